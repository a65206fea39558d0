import { type Ask, type Call, eventTypeOf, type FinalOrder, type History, isAnswered, isDone, keyOf, mayHaveHappened, type Transition } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/** An order that was answered with 200 exists in the end, as it was asked for. */
export function checkAcknowledged({ calls, final }: History): Violation[] {
  const orders = new Map(final.orders.map((order) => [order.id, order]));
  return calls.flatMap((call): Violation[] => {
    if (call.ask.kind !== 'place' || !isDone(call)) return [];
    const { plantId, quantity } = call.ask;
    const id = call.answer.order?.id ?? NaN;
    const order = orders.get(id);
    if (order?.plantId === plantId && order.quantity === quantity) return [];
    const is = order ? `is ${order.quantity} of plant ${order.plantId}` : 'does not exist';
    return [{ rule: 'acknowledged', what: `${describe(call)}: order ${id} was acknowledged and ${is}` }];
  });
}

/** `unavailable`, or any other refusal, means that nothing happened. Judged where a trace would be the call's own: an id or a reference of its choice. */
export function checkRefusedDidNothing({ calls, final }: History): Violation[] {
  const orders = new Set(final.orders.map(({ id }) => id));
  const payments = new Set(final.payments.map(({ orderId, reference }) => `${orderId} ${reference}`));
  const did = ({ ask }: Call): boolean =>
    (ask.kind === 'place' && ask.key === undefined && ask.orderId !== undefined && orders.has(ask.orderId)) ||
    (ask.kind === 'pay' && payments.has(`${ask.orderId} ${ask.reference}`) && !calls.some((other) => isSamePayment(other.ask, ask) && mayBeNoted(other)));
  return calls.flatMap((call): Violation[] => {
    if (!isAnswered(call) || call.answer.status === 200 || !did(call)) return [];
    const { status, code } = call.answer;
    // A payment that comes too late is refused, and noted all the same.
    if (code === 'outcome-unknown' || (call.ask.kind === 'pay' && status === 409)) return [];
    return [{ rule: 'unavailable-did-nothing', what: `${describe(call)}: ${status} ${code ?? ''}, and yet it happened` }];
  });
}

const isSamePayment = (one: Ask, other: Ask): boolean =>
  one.kind === 'pay' && other.kind === 'pay' && one.orderId === other.orderId && one.reference === other.reference;

/** A success that comes too late is refused, and noted as a refund that is due. */
const mayBeNoted = (call: Call): boolean => mayHaveHappened(call) || (isAnswered(call) && call.answer.code === 'order-not-payable');

/** Accepted orders without a key and an id of their own leave no name to ask for: each must have an order of its own. */
export function checkNothingInvented({ calls, final }: History): Violation[] {
  const asked = calls.filter(({ ask }) => ask.kind === 'place');
  const ofPlant = Map.groupBy(asked, ({ ask }) => (ask.kind === 'place' ? ask.plantId : NaN));
  const exist = Map.groupBy(final.orders, ({ plantId }) => plantId);
  return [...exist].flatMap(([plantId, orders]): Violation[] => {
    const requests = ofPlant.get(plantId) ?? [];
    const most = new Set(requests.filter(mayHaveHappened).map((call, n) => keyOf(call) ?? `call ${n}`)).size;
    if (orders.length <= most) return [];
    return [{ rule: 'once-per-key', what: `plant ${plantId} has ${orders.length} orders of at most ${most} requests that may have been accepted` }];
  });
}

/** The timeline has every step without a hole, from what the order was to what it is. */
export function checkTimelines({ final }: History): Violation[] {
  return final.orders.flatMap((order) => faultsOfTimeline(order).map((what): Violation => ({ rule: 'timeline', what: `order ${order.id}: ${what}` })));
}

/** A transfer, a shipment or a refund that is due: a step of the timeline that moves no status. */
const isAmendment = ({ version, previousStatus }: Transition): boolean => version > 1 && previousStatus === null;

const lifecycle = ['- placed', 'placed approved', 'approved delivered', 'placed cancelled'];

function faultsOfTimeline({ status, version, transitions }: FinalOrder): string[] {
  const faults: string[] = [];
  transitions.forEach((step, n) => {
    const before = transitions[n - 1];
    if (step.version !== n + 1) faults.push(`step ${n + 1} has version ${step.version}`);
    if ((eventTypeOf(step) === undefined) !== (step.eventId === null)) faults.push(`version ${step.version} ("${step.reason}") has ${step.eventId === null ? 'no' : 'an'} event`);
    if (isAmendment(step)) {
      if (step.newStatus !== before?.newStatus) faults.push(`${step.reason} made it ${step.newStatus} after ${before?.newStatus ?? 'nothing'}`);
      return;
    }
    if (step.previousStatus !== (before?.newStatus ?? null)) faults.push(`${step.newStatus} follows ${before?.newStatus ?? 'nothing'}, not ${step.previousStatus ?? 'nothing'}`);
    if (!lifecycle.includes(`${step.previousStatus ?? '-'} ${step.newStatus}`)) faults.push(`${step.previousStatus ?? '-'} never becomes ${step.newStatus}`);
  });
  const last = transitions.at(-1);
  if (last?.newStatus !== status) faults.push(`it is ${status}, and its timeline ends with ${last?.newStatus ?? 'nothing'}`);
  if (last?.version !== version) faults.push(`it has version ${version}, and its timeline ends with ${last?.version ?? 0}`);
  return faults;
}
