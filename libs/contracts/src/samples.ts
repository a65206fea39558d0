import { readFileSync } from 'node:fs';
import type { ResponseMeta } from '@plant-shop/platform/rpc/answer';
import type { Operation } from '@plant-shop/platform/rpc/operation';

/** The sample messages of an operation: what its service's tests produce and its callers' tests take for an answer. */
export interface Sample<Payload, Answer> {
  readonly request: Payload;
  readonly answer: Answer;
  /** What travels beside the answer. */
  readonly facts?: ResponseMeta;
}

/** The samples of one service, by operation. */
export type Samples = Readonly<Record<string, Sample<object, unknown>>>;

export const samplesOf = (service: string): Samples =>
  JSON.parse(readFileSync(new URL(`../samples/${service}.json`, import.meta.url), 'utf8')) as Samples;

/** @throws Error when the operation has no sample */
export function sampleOf<Payload, Answer>({ pattern }: Operation<Payload, Answer>): Sample<Payload, Answer> {
  const [service = '', name = ''] = pattern.split('.');
  const sample = samplesOf(service)[name];
  if (!sample) throw new Error(`samples/${service}.json has no ${name}`);
  return sample as Sample<Payload, Answer>;
}
