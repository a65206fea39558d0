import { type History, isDone } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/** A revocation holds everywhere this long after it was acknowledged. */
const limitMs = 1_000;
/** The database's clock and that of the calls are set against each other once. */
const clockSlackMs = 100;

/** No replica of any service takes a credential that was revoked a second ago, and no socket of it is told what happened since. */
export function checkRevocations({ calls, final }: History): Violation[] {
  const ends = new Map<string, number>();
  for (const call of calls) {
    if (call.ask.kind !== 'revoke' || !isDone(call)) continue;
    for (const credential of call.ask.credentials) ends.set(credential, Math.min(ends.get(credential) ?? Infinity, call.to));
  }
  const happened = new Map(final.orders.flatMap(({ transitions }) => transitions.map(({ eventId, at }) => [eventId, at] as const)));
  const uses = calls.flatMap((call): Violation[] => {
    if (call.ask.kind !== 'use' || !isDone(call)) return [];
    const sinceMs = call.from - (ends.get(call.ask.credential) ?? Infinity);
    return sinceMs > limitMs ? [{ rule: 'revoked', what: `${describe(call)}: 200, ${(sinceMs / 1_000).toFixed(2)} s after it was revoked` }] : [];
  });
  const frames = final.guests.flatMap(({ name, events }) =>
    events.flatMap(({ id }): Violation[] => {
      const sinceMs = (happened.get(id) ?? -Infinity) - (ends.get(name) ?? Infinity);
      return sinceMs > limitMs + clockSlackMs ? [{ rule: 'revoked', what: `the socket of ${name} got event ${id} of ${(sinceMs / 1_000).toFixed(2)} s after it was revoked` }] : [];
    }));
  return [...uses, ...frames];
}
