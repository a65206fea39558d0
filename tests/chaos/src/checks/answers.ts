import { noGateway } from '@plant-shop/testing/balancer';
import { type Call, type History, isAnswered, type Window } from '../history.js';
import type { Violation } from './violation.js';

/** Statuses that a correct client with a valid credential may get; the only 5xx is a 503 with Retry-After. */
const allowed = [200, 404, 409, 412, 429, 503];

/**
 * Every request is answered within its deadline with an allowed status. Only a gateway that was killed, paused or cut off may
 * lose its requests in flight or answer late, and connections may be refused only while all gateways are dead.
 */
export function checkAnswers({ calls, deadlineMs, gatewayFaults, withoutGateway, deletedUsers }: History): Violation[] {
  const excused = (call: Call): boolean => gatewayFaults.some((window) => isIn(window, call));
  const revoking = calls.filter(({ request }) => request.kind === 'revoke');
  const mayBeRevoked = (credential: string, at: number): boolean =>
    revoking.some(({ request, from }) => request.kind === 'revoke' && from < at && request.credentials.includes(credential));
  return calls.flatMap((call): Violation[] => {
    const found = (what: string): Violation[] => [{ rule: 'answers', what: `${describe(call)}: ${what}` }];
    if (call.request.kind === 'use') {
      // The request went to one replica, which may be dead or frozen: only the refusal of a valid credential is a violation.
      const isRefused = isAnswered(call) && call.answer.status === 401 && !mayBeRevoked(call.request.credential, call.to);
      return isRefused ? found('401') : [];
    }
    if (!isAnswered(call)) return excused(call) ? [] : found(`no answer (${call.why ?? ''})`);
    const { status, code, hasRetryAfter } = call.answer;
    if (status === 401 && deletedUsers.has(call.client)) return [];
    if (!allowed.includes(status)) return found(`${status} ${code ?? ''}`);
    if (code === noGateway && !withoutGateway.some((window) => isIn(window, call))) return found('no gateway accepted the connection, although one was alive');
    if (status === 503 && !hasRetryAfter) return found('503 without Retry-After');
    const tookMs = call.to - call.from;
    return tookMs > deadlineMs && !excused(call) ? found(`${status} after ${(tookMs / 1_000).toFixed(1)} s`) : [];
  });
}

/** Whether the call overlaps the window. */
const isIn = ({ from, to }: Window, call: Call): boolean => call.from <= to && call.to >= from;

export function describe({ client, request, from }: Call): string {
  const { kind, ...rest } = request;
  return `${client} ${kind} ${JSON.stringify(rest)} at ${(from / 1_000).toFixed(2)} s`;
}
