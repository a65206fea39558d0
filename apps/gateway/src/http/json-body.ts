import { isUtf8 } from 'node:buffer';
import { badField, HttpError } from '@plant-shop/contracts/problem';

/** Levels of nested objects and lists, including the outermost. */
export const maxDepth = 16;

interface Fault {
  readonly detail: string;
  /** From the outermost member inward. */
  readonly path: (string | number)[];
}

/**
 * Checks the form only: JSON in UTF-8 with the expected outermost value, bounded depth, and nothing that is dangerous to
 * parse or store (NUL, lone surrogates, prototype pollution). The owning service validates the fields, on the same bytes.
 */
export function checkJson(bytes: Buffer | undefined, top: 'object' | 'array'): asserts bytes is Buffer {
  if (bytes === undefined || bytes.length === 0) {
    throw new HttpError('malformed-json', 'The body is empty. Send JSON.');
  }
  if (!isUtf8(bytes)) throw new HttpError('malformed-json', 'The body is not UTF-8.');
  const value = parse(bytes.toString('utf8'));
  const is = Array.isArray(value) ? 'array' : typeof value === 'object' && value !== null ? 'object' : 'other';
  if (is !== top) throw badField('', top === 'array' ? 'must be a JSON array' : 'must be a JSON object');
  const fault = faultOf(value, 1);
  if (fault) throw badField(toPointer(fault.path), fault.detail);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's message quotes the body, which may contain a password.
    throw new HttpError('malformed-json', 'The body is not JSON. Look for missing quotes, commas and brackets.');
  }
}

function faultOf(value: unknown, depth: number): Fault | undefined {
  if (typeof value === 'string') return isClean(value) ? undefined : { detail: unclean, path: [] };
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > maxDepth) return { detail: `must not be nested deeper than ${maxDepth} levels`, path: [] };
  return Array.isArray(value) ? faultOfList(value, depth) : faultOfObject(value as Record<string, unknown>, depth);
}

function faultOfList(list: readonly unknown[], depth: number): Fault | undefined {
  for (let index = 0; index < list.length; index++) {
    const fault = faultOf(list[index], depth + 1);
    if (fault) return within(index, fault);
  }
  return undefined;
}

function faultOfObject(object: Record<string, unknown>, depth: number): Fault | undefined {
  for (const key in object) {
    if (!isClean(key)) return { detail: `has a member whose name ${unclean}`, path: [] };
    const member = object[key];
    if (key === '__proto__' || (key === 'constructor' && hasPrototype(member))) {
      return { detail: `must not have a member ${key}`, path: [] };
    }
    const fault = faultOf(member, depth + 1);
    if (fault) return within(key, fault);
  }
  return undefined;
}

const within = (key: string | number, fault: Fault): Fault => {
  fault.path.unshift(key);
  return fault;
};

const unclean = 'must contain neither NUL characters nor lone surrogates';
const isClean = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
const hasPrototype = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');

/** JSON Pointer, RFC 6901. */
const toPointer = (path: readonly (string | number)[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
