import { type Call, type History, isAnswered } from '../history.js';
import type { Violation } from './violation.js';

/** What a careful client with a live credential may be told; 5xx only as 503 that says when to come back. */
const allowed = [200, 404, 409, 412, 429, 503];

/**
 * Every request is answered, in time, by a status that leads on. Only a gateway that was killed, paused or cut off may lose
 * what it had, or answer late.
 */
export function checkAnswers({ calls, deadlineMs, gatewayFaults, leavers }: History): Violation[] {
  const excused = (call: Call): boolean => gatewayFaults.some(({ from, to }) => call.from <= to && call.to >= from);
  return calls.flatMap((call): Violation[] => {
    const found = (what: string): Violation[] => [{ rule: 'answers', what: `${describe(call)}: ${what}` }];
    if (!isAnswered(call)) return excused(call) ? [] : found(`no answer (${call.why ?? ''})`);
    const { status, code, hasRetryAfter } = call.answer;
    if (status === 401 && leavers.has(call.client)) return [];
    if (!allowed.includes(status)) return found(`${status} ${code ?? ''}`);
    if (status === 503 && !hasRetryAfter) return found('503 without Retry-After');
    const tookMs = call.to - call.from;
    return tookMs > deadlineMs && !excused(call) ? found(`${status} after ${(tookMs / 1_000).toFixed(1)} s`) : [];
  });
}

export function describe({ client, ask, from }: Call): string {
  const { kind, ...rest } = ask;
  return `${client} ${kind} ${JSON.stringify(rest)} at ${(from / 1_000).toFixed(2)} s`;
}
