import { type Answered, type Call, type FinalOrder, type FinalState, type History, isAnswered } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/**
 * Every acknowledged payment is recorded; a late one is recorded and listed as a refund due; an approved order has exactly one
 * accepted payment, and an order that was never approved has none.
 */
export function checkPayments({ calls, final }: History): Violation[] {
  const states = new Map(final.payments.map(({ orderId, reference, state }) => [`${orderId} ${reference}`, state]));
  const requested = calls.filter((call): call is Payment => call.request.kind === 'pay' && isAnswered(call));
  const references = new Set(calls.flatMap(({ request }) => (request.kind === 'pay' ? [`${request.orderId} ${request.reference}`] : [])));
  const byOrder = Map.groupBy(final.payments, ({ orderId }) => orderId);
  const listed = new Set(final.refundsDue.map(({ orderId, paymentReference }) => `${orderId} ${paymentReference}`));
  return [
    ...final.payments
      .filter(({ orderId, reference, state }) => state === 'refund-due' && !listed.has(`${orderId} ${reference}`))
      .map(({ orderId, reference }) => violation(`payment ${reference} of order ${orderId} must be refunded, but is not listed as due`)),
    ...requested.flatMap((call) => checkAnswer(call, states.get(`${call.request.orderId} ${call.request.reference}`))),
    ...final.payments
      .filter(({ orderId, reference }) => !references.has(`${orderId} ${reference}`))
      .map(({ orderId, reference }) => violation(`order ${orderId} has payment ${reference}, which was never reported`)),
    ...final.orders.flatMap((order) => checkOrder(order, byOrder.get(order.id) ?? [])),
  ];
}

type Payment = Call & { readonly request: Extract<Call['request'], { kind: 'pay' }>; readonly answer: Answered };

function checkAnswer(call: Payment, state: string | undefined): Violation[] {
  const { status, code } = call.answer;
  const found = (what: string): Violation[] => [violation(`${describe(call)}: ${status} ${code ?? ''}, but ${what}`)];
  if (status === 200 && state === undefined) return found('it is not recorded');
  // A failed payment may have succeeded later under the same reference.
  if (status === 200 && call.request.outcome === 'succeeded' && state !== 'accepted') return found(`it is recorded as ${state ?? 'nothing'}`);
  if (code === 'order-not-payable' && state !== 'refund-due') return found(`it is ${state ?? 'not recorded'}, and a refund is due`);
  return [];
}

function checkOrder({ id, transitions }: FinalOrder, payments: FinalState['payments']): Violation[] {
  const accepted = payments.filter(({ state }) => state === 'accepted').length;
  const approval = transitions.find(({ newStatus, previousStatus }) => newStatus === 'approved' && previousStatus === 'placed');
  const expected = approval && approval.actor !== 'store' ? 1 : 0;
  const isPlaced = transitions.at(-1)?.newStatus === 'placed';
  return [
    ...(accepted === expected ? [] : [violation(`order ${id} was ${expected === 1 ? '' : 'never '}approved by a payment, but has ${accepted} accepted ones`)]),
    ...(isPlaced && payments.some(({ state }) => state === 'refund-due') ? [violation(`order ${id} still waits for its payment, but one is marked for a refund`)] : []),
  ];
}

const violation = (what: string): Violation => ({ rule: 'payments', what });
