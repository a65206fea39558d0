import { type History, isDone } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/** A revocation must be effective everywhere within this time after its acknowledgement. */
const limitMs = 1_000;
/** The offset between the database's clock and that of the calls is measured only once. */
const clockSlackMs = 100;

/** Over a second after a revocation was acknowledged, no replica accepts the credential, and its socket gets no later event. */
export function checkRevocations({ calls, final }: History): Violation[] {
  const ends = new Map<string, number>();
  for (const call of calls) {
    if (call.request.kind !== 'revoke' || !isDone(call)) continue;
    for (const credential of call.request.credentials) ends.set(credential, Math.min(ends.get(credential) ?? Infinity, call.to));
  }
  const happened = new Map(final.orders.flatMap(({ transitions }) => transitions.map(({ eventId, at }) => [eventId, at] as const)));
  const uses = calls.flatMap((call): Violation[] => {
    if (call.request.kind !== 'use' || !isDone(call)) return [];
    const sinceMs = call.from - (ends.get(call.request.credential) ?? Infinity);
    return sinceMs > limitMs ? [{ rule: 'revoked', what: `${describe(call)}: 200, ${(sinceMs / 1_000).toFixed(2)} s after it was revoked` }] : [];
  });
  const frames = final.revokedSockets.flatMap(({ name, events }) =>
    events.flatMap(({ id }): Violation[] => {
      const sinceMs = (happened.get(id) ?? -Infinity) - (ends.get(name) ?? Infinity);
      return sinceMs > limitMs + clockSlackMs ? [{ rule: 'revoked', what: `the socket of ${name} got event ${id} of ${(sinceMs / 1_000).toFixed(2)} s after it was revoked` }] : [];
    }));
  return [...uses, ...frames];
}
