import { type ShopRequest, type Call, eventTypeOf, type FinalOrder, type History, isAnswered, isDone, keyOf, mayHaveHappened, type Transition } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/** An order that was answered with 200 exists at the end, with the requested plant and quantity. */
export function checkAcknowledged({ calls, final }: History): Violation[] {
  const orders = new Map(final.orders.map((order) => [order.id, order]));
  return calls.flatMap((call): Violation[] => {
    if (call.request.kind !== 'place' || !isDone(call)) return [];
    const { plantId, quantity } = call.request;
    const id = call.answer.order?.id ?? NaN;
    const order = orders.get(id);
    if (order?.plantId === plantId && order.quantity === quantity) return [];
    const is = order ? `is ${order.quantity} of plant ${order.plantId}` : 'does not exist';
    return [{ rule: 'acknowledged', what: `${describe(call)}: order ${id} was acknowledged but ${is}` }];
  });
}

/** A refused call had no effect. Checked only if an effect can be attributed to the call, by its order id or payment reference. */
export function checkRefusedDidNothing({ calls, final }: History): Violation[] {
  const orders = new Set(final.orders.map(({ id }) => id));
  const payments = new Set(final.payments.map(({ orderId, reference }) => `${orderId} ${reference}`));
  const did = ({ request }: Call): boolean =>
    (request.kind === 'place' && request.key === undefined && request.orderId !== undefined && orders.has(request.orderId)) ||
    (request.kind === 'pay' && payments.has(`${request.orderId} ${request.reference}`) && !calls.some((other) => isSamePayment(other.request, request) && mayBeRecorded(other)));
  return calls.flatMap((call): Violation[] => {
    if (!isAnswered(call) || call.answer.status === 200 || !did(call)) return [];
    const { status, code } = call.answer;
    // A late payment is refused with 409 but recorded, because it must be refunded.
    if (code === 'outcome-unknown' || (call.request.kind === 'pay' && status === 409)) return [];
    return [{ rule: 'unavailable-did-nothing', what: `${describe(call)}: ${status} ${code ?? ''}, but it took effect` }];
  });
}

const isSamePayment = (one: ShopRequest, other: ShopRequest): boolean =>
  one.kind === 'pay' && other.kind === 'pay' && one.orderId === other.orderId && one.reference === other.reference;

/** Whether the call may have recorded a payment; a late one is refused, and recorded as a refund due. */
const mayBeRecorded = (call: Call): boolean => mayHaveHappened(call) || (isAnswered(call) && call.answer.code === 'order-not-payable');

/**
 * A plant has at most one order for each request, or key, that may have succeeded. Orders without id and key cannot be attributed in
 * any other way.
 */
export function checkNothingInvented({ calls, final }: History): Violation[] {
  const requested = calls.filter(({ request }) => request.kind === 'place');
  const ofPlant = Map.groupBy(requested, ({ request }) => (request.kind === 'place' ? request.plantId : NaN));
  const exist = Map.groupBy(final.orders, ({ plantId }) => plantId);
  return [...exist].flatMap(([plantId, orders]): Violation[] => {
    const requests = ofPlant.get(plantId) ?? [];
    const most = new Set(requests.filter(mayHaveHappened).map((call, n) => keyOf(call) ?? `call ${n}`)).size;
    if (orders.length <= most) return [];
    return [{ rule: 'once-per-key', what: `plant ${plantId} has ${orders.length} orders, but at most ${most} requests may have been accepted` }];
  });
}

/** Each timeline has every step of its order, from the first status to the last, without a gap. */
export function checkTimelines({ final }: History): Violation[] {
  return final.orders.flatMap((order) => faultsOfTimeline(order).map((what): Violation => ({ rule: 'timeline', what: `order ${order.id}: ${what}` })));
}

/** Whether a step leaves the status unchanged: a transfer, a shipment, or a refund that is due. */
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
  if (last?.newStatus !== status) faults.push(`its status is ${status}, but its timeline ends with ${last?.newStatus ?? 'nothing'}`);
  if (last?.version !== version) faults.push(`its version is ${version}, but its timeline ends with ${last?.version ?? 0}`);
  return faults;
}
