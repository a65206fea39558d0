import type { SpanStart } from '../telemetry/tracing.js';
import { failureOf, type OpenSpan, tracing } from '../telemetry/tracing.js';
import type { Operation } from './operation.js';

/** What operators should look at. Every other code is an answer as good as any: the caller asked for what cannot be. */
const failures: ReadonlySet<string> = new Set([
  'internal',
  'unavailable',
  'outcome-unknown',
  'overloaded',
  'malformed-frame',
  'unknown-operation',
]);

const spanOf = (kind: SpanStart['kind'], service: string, method: string, parent: string): SpanStart => ({
  name: `${service}.${method}`,
  kind,
  parent,
  attributes: { 'rpc.system': 'plant-shop', 'rpc.service': service, 'rpc.method': method, 'network.transport': 'nats' },
});

/** A call to another service, from being made to its answer. Only what is part of a trace is traced. */
export const beginCall = ({ service, name }: Operation<unknown, unknown>, parent: string | undefined): OpenSpan | undefined =>
  parent === undefined ? undefined : tracing?.begin(spanOf('client', service, name, parent));

/** The same call where it is carried out. */
export const beginAnswer = (service: string, method: string, parent: string | undefined): OpenSpan | undefined =>
  parent === undefined ? undefined : tracing?.begin(spanOf('server', service, method, parent));

export function endWithCode(span: OpenSpan, code: string): void {
  span.set({ 'rpc.response.status_code': code });
  span.end(failures.has(code) ? code : undefined);
}

export async function endWith<T>(span: OpenSpan, answer: Promise<T>): Promise<T> {
  try {
    const result = await answer;
    endWithCode(span, 'ok');
    return result;
  } catch (error) {
    endWithCode(span, failureOf(error));
    throw error;
  }
}
