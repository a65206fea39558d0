import { type Answered, type Call, type FinalOrder, type FinalState, type History, isAnswered } from '../history.js';
import { describe } from './answers.js';
import type { Violation } from './violation.js';

/**
 * Money is never lost sight of: a payment that was acknowledged is noted, one that came too late is noted as a refund that is
 * due and listed as such, an approved order has exactly one payment, and an order that was never approved has none that counts.
 */
export function checkPayments({ calls, final }: History): Violation[] {
  const states = new Map(final.payments.map(({ orderId, reference, state }) => [`${orderId} ${reference}`, state]));
  const asked = calls.filter((call): call is Payment => call.ask.kind === 'pay' && isAnswered(call));
  const references = new Set(calls.flatMap(({ ask }) => (ask.kind === 'pay' ? [`${ask.orderId} ${ask.reference}`] : [])));
  const byOrder = Map.groupBy(final.payments, ({ orderId }) => orderId);
  const listed = new Set(final.refundsDue.map(({ orderId, paymentReference }) => `${orderId} ${paymentReference}`));
  return [
    ...final.payments
      .filter(({ orderId, reference, state }) => state === 'refund-due' && !listed.has(`${orderId} ${reference}`))
      .map(({ orderId, reference }) => violation(`payment ${reference} of order ${orderId} is to be given back, and no list of refunds shows it`)),
    ...asked.flatMap((call) => checkTold(call, states.get(`${call.ask.orderId} ${call.ask.reference}`))),
    ...final.payments
      .filter(({ orderId, reference }) => !references.has(`${orderId} ${reference}`))
      .map(({ orderId, reference }) => violation(`order ${orderId} has payment ${reference}, which nobody reported`)),
    ...final.orders.flatMap((order) => checkOrder(order, byOrder.get(order.id) ?? [])),
  ];
}

type Payment = Call & { readonly ask: Extract<Call['ask'], { kind: 'pay' }>; readonly answer: Answered };

function checkTold(call: Payment, state: string | undefined): Violation[] {
  const { status, code } = call.answer;
  const found = (what: string): Violation[] => [violation(`${describe(call)}: ${status} ${code ?? ''}, and ${what}`)];
  if (status === 200 && state === undefined) return found('it is not noted');
  // One that failed may have been corrected since.
  if (status === 200 && call.ask.outcome === 'succeeded' && state !== 'accepted') return found(`it is noted as ${state ?? 'nothing'}`);
  if (code === 'order-not-payable' && state !== 'refund-due') return found(`it is ${state ?? 'not noted'} where a refund is due`);
  return [];
}

function checkOrder({ id, transitions }: FinalOrder, payments: FinalState['payments']): Violation[] {
  const accepted = payments.filter(({ state }) => state === 'accepted').length;
  const approval = transitions.find(({ newStatus, previousStatus }) => newStatus === 'approved' && previousStatus === 'placed');
  const expected = approval && approval.actor !== 'store' ? 1 : 0;
  const isPlaced = transitions.at(-1)?.newStatus === 'placed';
  return [
    ...(accepted === expected ? [] : [violation(`order ${id} was ${expected === 1 ? '' : 'never '}approved by a payment, and has ${accepted}`)]),
    ...(isPlaced && payments.some(({ state }) => state === 'refund-due') ? [violation(`order ${id} still waits for its payment, and one is to be given back`)] : []),
  ];
}

const violation = (what: string): Violation => ({ rule: 'payments', what });
