import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import { badField, badParameter, Refusal } from '../problems/refusal.js';
import { checkJson } from './json-body.js';
import { UrlEncoded } from './url-encoded.js';

// What handlers read from a request. Each throws the fault that the client gets.

const textOf = (request: FastifyRequest, name: string): string => {
  const value = (request.params as Record<string, string | undefined>)[name];
  if (value === undefined) throw new Error(`the route has no parameter ${name}`);
  return value;
};

/** A path parameter that is any text. */
export function pathText(request: FastifyRequest, name: string): string {
  const value = textOf(request, name);
  if (value.includes('\0')) throw badParameter(name, 'must not hold NUL characters');
  return value;
}

/** A path parameter that is an id: decimal digits, nothing else (`1e3` and `+1` are numbers, but no ids). */
export function pathId(request: FastifyRequest, name: string): number {
  return idOf(name, textOf(request, name));
}

function idOf(name: string, text: string): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(id)) throw badParameter(name, `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`);
  return id;
}

export const queryOf = (request: FastifyRequest): UrlEncoded => request.query as UrlEncoded;

export const queryText = (request: FastifyRequest, name: string): string | undefined =>
  queryOf(request).one(name, badParameter);

/** A query parameter without which the operation makes no sense; `must` says what it must be. */
export function neededQueryText(request: FastifyRequest, name: string, must: string): string {
  const value = queryText(request, name);
  if (value === undefined) throw badParameter(name, must);
  return value;
}

/** The named query parameters that are there. */
export function queryTexts<Name extends string>(request: FastifyRequest, ...names: readonly Name[]): Partial<Record<Name, string>> {
  const given: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const value = queryText(request, name);
    if (value !== undefined) given[name] = value;
  }
  return given;
}

/** A query parameter that is an id, like one of the path. */
export function queryId(request: FastifyRequest, name: string): number | undefined {
  const value = queryText(request, name);
  return value === undefined ? undefined : idOf(name, value);
}

export const queryList = (request: FastifyRequest, name: string): readonly string[] | undefined => queryOf(request).list(name);

export function neededQueryList(request: FastifyRequest, name: string, must: string): readonly string[] {
  const values = queryList(request, name);
  if (values === undefined || values.every((one) => one === '')) throw badParameter(name, must);
  return values;
}

/** `limit` and `cursor` of a list; their bounds are the owner's. */
export function pageOf(request: FastifyRequest): { limit?: number; cursor?: string } {
  const limit = queryText(request, 'limit');
  const cursor = queryText(request, 'cursor');
  if (limit !== undefined && !/^\d{1,9}$/.test(limit)) throw badParameter('limit', 'must be a whole number from 1 to 1000');
  return { ...(limit !== undefined && { limit: Number(limit) }), ...(cursor !== undefined && { cursor }) };
}

/** Broken encoding anywhere in the query is answered even where nothing is read from it. */
export function checkQuery(request: FastifyRequest): void {
  const { fault } = queryOf(request);
  if (fault !== undefined) throw new Refusal('malformed-request', `The query ${fault}.`);
}

/** The JSON body, checked, as the bytes that came. */
export function jsonBody(request: FastifyRequest, top: 'object' | 'array'): Buffer {
  const bytes = request.body as Buffer | undefined;
  checkJson(bytes, top);
  return bytes;
}

/** The named fields of a URL-encoded form; others are ignored. */
export function formBody(request: FastifyRequest, fields: readonly string[]): Record<string, string> {
  const bytes = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
  if (!isUtf8(bytes)) throw new Refusal('malformed-request', 'The form must be UTF-8.');
  const parsed = UrlEncoded.parse(bytes.toString('utf8'));
  if (parsed.fault !== undefined) throw new Refusal('malformed-request', `The form ${parsed.fault}.`);
  const given: Record<string, string> = {};
  for (const field of fields) {
    const value = parsed.one(field, (name, must) => badField(`/${name}`, must));
    if (value !== undefined) given[field] = value;
  }
  return given;
}
