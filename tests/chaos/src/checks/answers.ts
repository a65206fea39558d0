import { type Call, type History, isAnswered, noGateway, type Window } from '../history.js';
import type { Violation } from './violation.js';

/** What a careful client with a live credential may be told; 5xx only as 503 that says when to come back. */
const allowed = [200, 404, 409, 412, 429, 503];

/**
 * Every request is answered, in time, by a status that leads on. Only a gateway that was killed, paused or cut off may lose
 * what it had, or answer late; and only while all are dead may connections be refused.
 */
export function checkAnswers({ calls, deadlineMs, gatewayFaults, withoutGateway, leavers }: History): Violation[] {
  const excused = (call: Call): boolean => gatewayFaults.some((window) => isIn(window, call));
  const revoking = calls.filter(({ ask }) => ask.kind === 'revoke');
  const mayBeRevoked = (credential: string, at: number): boolean =>
    revoking.some(({ ask, from }) => ask.kind === 'revoke' && from < at && ask.credentials.includes(credential));
  return calls.flatMap((call): Violation[] => {
    const found = (what: string): Violation[] => [{ rule: 'answers', what: `${describe(call)}: ${what}` }];
    if (call.ask.kind === 'use') {
      // It goes to one replica, which may be dead or stand still: only a refusal of a live credential is wrong.
      const isRefused = isAnswered(call) && call.answer.status === 401 && !mayBeRevoked(call.ask.credential, call.to);
      return isRefused ? found('401') : [];
    }
    if (!isAnswered(call)) return excused(call) ? [] : found(`no answer (${call.why ?? ''})`);
    const { status, code, hasRetryAfter } = call.answer;
    if (status === 401 && leavers.has(call.client)) return [];
    if (!allowed.includes(status)) return found(`${status} ${code ?? ''}`);
    if (code === noGateway && !withoutGateway.some((window) => isIn(window, call))) return found('no gateway took the connection, and one was alive');
    if (status === 503 && !hasRetryAfter) return found('503 without Retry-After');
    const tookMs = call.to - call.from;
    return tookMs > deadlineMs && !excused(call) ? found(`${status} after ${(tookMs / 1_000).toFixed(1)} s`) : [];
  });
}

/** It was under way in it, for a moment at least. */
const isIn = ({ from, to }: Window, call: Call): boolean => call.from <= to && call.to >= from;

export function describe({ client, ask, from }: Call): string {
  const { kind, ...rest } = ask;
  return `${client} ${kind} ${JSON.stringify(rest)} at ${(from / 1_000).toFixed(2)} s`;
}
