import { type Answered, type Call, type FinalOrder, type History, isAnswered, isDone, keyOf, mayHaveHappened } from '../history.js';
import { describe } from './answers.js';
import { kindOf } from './register.js';
import type { Violation } from './violation.js';

/**
 * A request with an Idempotency-Key takes effect once, no matter how often it is sent. Every success has the same answer, and
 * after the first success the request is never refused.
 */
export function checkOncePerKey({ calls }: History): Violation[] {
  const byKey = Map.groupBy(calls.filter((call) => keyOf(call) !== undefined), keyOf);
  return [...byKey].flatMap(([key, same]): Violation[] => {
    const done = same.filter(isDone);
    const [first] = done;
    if (!first) return [];
    const other = done.find(({ answer }) => answer.body !== first.answer.body || answer.order?.id !== first.answer.order?.id);
    const firstEnd = Math.min(...done.map(({ to }) => to));
    const refused = same.find((call) => call.from > firstEnd && isRefusal(call));
    return [
      ...(other ? [violation(`key ${key ?? ''}: ${describe(first)} and ${describe(other)} were answered ${describeAnswer(first)} and ${describeAnswer(other)}`)] : []),
      ...(refused ? [violation(`key ${key ?? ''}: ${describe(refused)} was refused after an earlier success`)] : []),
    ];
  });
}

/** A resource exists at most once for each key that may have succeeded, and at least once if its creation was acknowledged. */
export function checkCreated({ calls, final, deletedUsers }: History): Violation[] {
  const counts = new Map<string, number>();
  for (const { resource, mark } of final.created) counts.set(`${resource} ${mark}`, (counts.get(`${resource} ${mark}`) ?? 0) + 1);
  const requested = calls.filter(({ request }) => request.kind === 'create');
  const byResource = Map.groupBy(requested, ({ request }) => (request.kind === 'create' ? `${request.resource} ${request.mark}` : ''));
  return [...byResource].flatMap(([name, same]): Violation[] => {
    const count = counts.get(name) ?? 0;
    const most = new Set(same.filter(mayHaveHappened).map(keyOf)).size;
    if (count > most) return [violation(`${name} exists ${count} times, but only ${most} keys may have succeeded`)];
    // Resources are deleted with the account that owns them.
    if (count === 0 && same.some((call) => isDone(call) && !deletedUsers.has(call.client))) return [{ rule: 'acknowledged', what: `${name} was acknowledged but does not exist` }];
    return [];
  });
}

/**
 * Shipments and transfers are steps of the timeline: at most one for each request that may have succeeded, and at least one for each
 * acknowledged request.
 */
export function checkAmendments({ calls, final }: History): Violation[] {
  const requested = calls.filter(({ request }) => request.kind === 'ship' || request.kind === 'transfer');
  const byOrder = Map.groupBy(requested, ({ request }) => ('orderId' in request ? `${request.kind} ${request.orderId ?? ''}` : ''));
  const orders = new Map(final.orders.map((order) => [order.id, order]));
  return [...byOrder].flatMap(([name, same]): Violation[] => {
    const [kind, id] = name.split(' ');
    const order = orders.get(Number(id));
    if (!order) return [];
    const count = stepsOf(order, kind ?? '');
    const most = requestsOf(same.filter(mayHaveHappened));
    if (count > most) return [violation(`order ${order.id} has ${count} steps "${kind ?? ''}", but at most ${most} requests may have succeeded`)];
    const least = requestsOf(same.filter(isDone));
    return count < least ? [{ rule: 'acknowledged', what: `order ${order.id} has ${count} steps "${kind ?? ''}", but ${least} were acknowledged` }] : [];
  });
}

const stepsOf = ({ transitions }: FinalOrder, kind: string): number => transitions.filter((step) => kindOf(step) === kind).length;
const requestsOf = (calls: readonly Call[]): number => new Set(calls.map((call) => keyOf(call) ?? call.requestId)).size;

const isRefusal = (call: Call): call is Call & { answer: Answered } => isAnswered(call) && call.answer.status >= 400 && ![401, 429, 503].includes(call.answer.status);
const describeAnswer = ({ answer }: Call & { answer: Answered }): string => (answer.order ? `order ${answer.order.id} ` : '') + (answer.body ?? '').slice(0, 200);
const violation = (what: string): Violation => ({ rule: 'once-per-key', what });
