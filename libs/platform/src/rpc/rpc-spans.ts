import type { SpanStart } from '../telemetry/tracing.js';
import { failureOf, type OpenSpan, tracing } from '../telemetry/tracing.js';
import type { Operation } from './operation.js';

/** The codes that mark a span as failed, for operators. Every other code reports a mistake of the caller. */
const failureCodes: ReadonlySet<string> = new Set([
  'internal',
  'unavailable',
  'outcome-unknown',
  'overloaded',
  'malformed-batch',
  'unknown-operation',
]);

const spanOf = (kind: SpanStart['kind'], service: string, method: string, parent: string): SpanStart => ({
  name: `${service}.${method}`,
  kind,
  parent,
  attributes: { 'rpc.system': 'plant-shop', 'rpc.service': service, 'rpc.method': method, 'network.transport': 'nats' },
});

/** Begins the span of a call to another service, or returns undefined if the caller is not traced. */
export const beginClientSpan = ({ service, name }: Operation<unknown, unknown>, parent: string | undefined): OpenSpan | undefined =>
  parent === undefined ? undefined : tracing?.begin(spanOf('client', service, name, parent));

/** Begins the span of the same call in the called service. */
export const beginServerSpan = (service: string, method: string, parent: string | undefined): OpenSpan | undefined =>
  parent === undefined ? undefined : tracing?.begin(spanOf('server', service, method, parent));

export function endWithCode(span: OpenSpan, code: string): void {
  span.set({ 'rpc.response.status_code': code });
  span.end(failureCodes.has(code) ? code : undefined);
}

export async function endWhenSettled<T>(span: OpenSpan, answer: Promise<T>): Promise<T> {
  try {
    const result = await answer;
    endWithCode(span, 'ok');
    return result;
  } catch (error) {
    endWithCode(span, failureOf(error));
    throw error;
  }
}
