import { readFileSync } from 'node:fs';
import type { ResponseMeta } from '@plant-shop/platform/rpc/answer';
import type { Operation } from '@plant-shop/platform/rpc/operation';

/** The sample messages of an operation. Tests of its service produce the answer, tests of its callers receive it. */
export interface Sample<Payload, Answer> {
  readonly request: Payload;
  readonly answer: Answer;
  /** The answer's metadata. */
  readonly meta?: ResponseMeta;
}

/** The samples of one service, by operation. */
export type Samples = Readonly<Record<string, Sample<object, unknown>>>;

export const samplesOf = (service: string): Samples =>
  JSON.parse(readFileSync(new URL(`../samples/${service}.json`, import.meta.url), 'utf8')) as Samples;

/** Returns the sample of an operation. @throws Error when it has none */
export function sampleOf<Payload, Answer>({ pattern }: Operation<Payload, Answer>): Sample<Payload, Answer> {
  const [service = '', name = ''] = pattern.split('.');
  const sample = samplesOf(service)[name];
  if (!sample) throw new Error(`samples/${service}.json has no ${name}`);
  return sample as Sample<Payload, Answer>;
}
