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

const folder = new URL('../samples/1/', import.meta.url);

export const sampleOf = <Payload, Answer>({ pattern }: Operation<Payload, Answer>): Sample<Payload, Answer> =>
  JSON.parse(readFileSync(new URL(`${pattern}.json`, folder), 'utf8')) as Sample<Payload, Answer>;
