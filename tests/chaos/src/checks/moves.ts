import { type Call, type FinalOrder, type History, mayHaveHappened, type Transition } from '../history.js';
import { kindOf } from './register.js';
import type { Violation } from './violation.js';

/** The database's clock and that of the calls are set against each other once, at the end of a trial. */
const clockSlackMs = 1_000;
/** Times of the database have microseconds, and are told in milliseconds. */
const roundingMs = 1;

/**
 * Every step of an order was asked for by a call that may have succeeded and had begun by then, or is due by a clock; and a
 * clock moves nothing before its time.
 */
export function checkMovesAreAsked({ calls, final, clocks }: History): Violation[] {
  const asked = calls.filter((call) => 'orderId' in call.ask && (mayHaveHappened(call) || isOwedBack(call)));
  const byOrder = Map.groupBy(asked, ({ ask }) => ('orderId' in ask ? ask.orderId : undefined));
  return final.orders.flatMap((order) => order.transitions.slice(1).flatMap((step, n): Violation[] => {
    if (step.actor === 'store') return ofClock(order, step, sinceWhen(order.transitions.slice(0, n + 1)), clocks);
    const isAsked = (byOrder.get(order.id) ?? []).some((call) => asksFor(call, step));
    return isAsked ? [] : [{ rule: 'unasked', what: `order ${order.id}: nobody asked for "${step.reason}" of version ${step.version}` }];
  }));
}

/** A payment that is refused, and that a refund is due of. */
const isOwedBack = ({ answer }: Call): boolean => answer !== 'lost' && answer.code === 'order-not-payable';

function asksFor(call: Call, step: Transition): boolean {
  const { ask, from } = call;
  if (isOwedBack(call) && step.reason !== 'refund due') return false;
  if (ask.kind !== kindOf(step) || from > step.at + clockSlackMs) return false;
  if (ask.kind === 'transfer') return step.owner === null || step.owner === ask.to;
  return ask.kind !== 'pay' || ask.outcome === 'succeeded';
}

/** The step that gave an order the status that it has after all these: a transfer or a shipment puts off nothing. */
const sinceWhen = (steps: readonly Transition[]): Transition | undefined =>
  steps[steps.findLastIndex(({ newStatus }) => newStatus !== steps.at(-1)?.newStatus) + 1];

function ofClock({ id }: FinalOrder, step: Transition, before: Transition | undefined, clocks: History['clocks']): Violation[] {
  const dueAfterMs = { placed: undefined, approved: clocks.approveAfterMs, delivered: clocks.deliverAfterMs, cancelled: clocks.expireAfterMs }[step.newStatus];
  if (dueAfterMs === undefined) return [{ rule: 'unasked', what: `order ${id} became ${step.newStatus} by itself ("${step.reason}")` }];
  const ageMs = step.at - (before?.at ?? step.at);
  if (ageMs >= dueAfterMs - roundingMs) return [];
  return [{ rule: 'expiry', what: `order ${id}: "${step.reason}" after ${ageMs.toFixed(0)} ms, and it was due after ${dueAfterMs} ms` }];
}
