import { readFileSync } from 'node:fs';
import type { Facts } from '@plant-shop/platform/rpc/answer';
import type { Operation } from '@plant-shop/platform/rpc/operation';

/** The sample messages of an operation: what its service's tests produce and its callers' tests take for an answer. */
export interface Sample<Payload, Answer> {
  readonly request: Payload;
  readonly answer: Answer;
  /** What travels beside the answer. */
  readonly facts?: Facts;
}

const folder = new URL('../../contracts/samples/1/', import.meta.url);

export function sampleOf<Payload, Answer>({ pattern }: Operation<Payload, Answer>): Sample<Payload, Answer> {
  return JSON.parse(readFileSync(new URL(`${pattern}.json`, folder), 'utf8')) as Sample<Payload, Answer>;
}

/**
 * Names and types of a value, without what it happens to hold: two answers of the same shape can be read by the same
 * caller. A list has the shapes of its elements, each once.
 */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    const shapes = value.map((one) => JSON.stringify(shapeOf(one)));
    return [...new Set(shapes)].sort().map((shape) => JSON.parse(shape) as unknown);
  }
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(members.map(([name, one]) => [name, shapeOf(one)] as const).sort(([a], [b]) => (a < b ? -1 : 1)));
}
