import { type Call, type FinalOrder, type History, mayHaveHappened, type Transition } from '../history.js';
import { kindOf } from './register.js';
import type { Violation } from './violation.js';

/** The offset between the database's clock and that of the calls is measured once, at the end of a trial, when that clock is right. */
const clockSlackMs = 1_000;
/** The database stores microseconds; its times are read as milliseconds. */
const roundingMs = 1;

/**
 * Every step of an order was caused by a timer, or by a call that had begun by then and may have succeeded. No timer fires
 * before its time.
 */
export function checkStepsAreRequested({ calls, final, timers, databaseClockErrorMs: errorMs }: History): Violation[] {
  const requested = calls.filter((call) => 'orderId' in call.request && (mayHaveHappened(call) || isRefundDue(call)));
  const byOrder = Map.groupBy(requested, ({ request }) => ('orderId' in request ? request.orderId : undefined));
  return final.orders.flatMap((order) => order.transitions.slice(1).flatMap((step, n): Violation[] => {
    if (step.actor === 'store') return checkTimer(order, step, statusSince(order.transitions.slice(0, n + 1)), timers, errorMs);
    const isRequested = (byOrder.get(order.id) ?? []).some((call) => canCause(call, step, errorMs));
    return isRequested ? [] : [{ rule: 'unasked', what: `order ${order.id}: no call requested "${step.reason}" of version ${step.version}` }];
  }));
}

/** Whether a payment was refused and is owed back. */
const isRefundDue = ({ answer }: Call): boolean => answer !== 'lost' && answer.code === 'order-not-payable';

function canCause(call: Call, step: Transition, errorMs: number): boolean {
  const { request, from } = call;
  if (isRefundDue(call) && step.reason !== 'refund due') return false;
  if (request.kind !== kindOf(step) || from > step.at + clockSlackMs + errorMs) return false;
  if (request.kind === 'transfer') return step.owner === null || step.owner === request.to;
  return request.kind !== 'pay' || request.outcome === (step.reason === 'payment failed' ? 'failed' : 'succeeded');
}

/** The step that set the current status, from which timers run: transfers and shipments do not restart them. */
const statusSince = (steps: readonly Transition[]): Transition | undefined =>
  steps[steps.findLastIndex(({ newStatus }) => newStatus !== steps.at(-1)?.newStatus) + 1];

function checkTimer({ id }: FinalOrder, step: Transition, before: Transition | undefined, timers: History['timers'], errorMs: number): Violation[] {
  const dueAfterMs = { placed: undefined, approved: timers.approveAfterMs, delivered: timers.deliverAfterMs, cancelled: timers.expireAfterMs }[step.newStatus];
  if (dueAfterMs === undefined) return [{ rule: 'unasked', what: `order ${id} became ${step.newStatus} without a call or a timer ("${step.reason}")` }];
  const ageMs = step.at - (before?.at ?? step.at);
  if (ageMs >= dueAfterMs - roundingMs - errorMs) return [];
  return [{ rule: 'expiry', what: `order ${id}: "${step.reason}" after ${ageMs.toFixed(0)} ms, due after ${dueAfterMs} ms` }];
}
