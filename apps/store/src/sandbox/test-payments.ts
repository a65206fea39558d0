import { Injectable } from '@nestjs/common';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { DueOrder } from '../checkout/due-orders.repository.js';
import { DueOrdersService } from '../checkout/due-orders.service.js';
import { canTransition, declinePayment, markRefundDue, type OrderState, refundDueEvent, type StatusChange, storeActor } from '../orders/order.js';
import { lockOrdersAndStock, writeAmendments } from '../orders/orders.repository.js';
import { findRefundIds, savePayments } from '../payments/payments.repository.js';

/**
 * The simulated provider of a sandbox: `payment` in the metadata of an order or of its basket decides. When others are approved, an
 * order with `test_decline`, `test_late`, `test_never` or another word that begins like these is left to expire; the payment of `test_late`
 * arrives right after that.
 */
@Injectable()
export class TestPayments extends DueOrdersService {
  protected override async apply(tx: Transaction, due: readonly DueOrder[]): Promise<readonly StatusChange[]> {
    if (due.length === 0) return [];
    const { orders, at } = await lockOrdersAndStock(tx, due.map(({ id }) => id));
    const outcomes = await findOutcomes(tx, [...orders.values()]);
    const [unpaid, others]: [OrderState[], DueOrder[]] = [[], []];
    for (const one of due) {
      const order = orders.get(one.id);
      if (order && one.transition === 'approve' && canTransition(order, 'approve') && isUnpaid(outcomes.get(one.id))) unpaid.push(order);
      else others.push(one);
    }
    const declined = unpaid.map((order) => {
      const step = declinePayment(order, { actor: storeActor, at }, this.options.checkout);
      return { ...step, reason: reasons.get(outcomes.get(order.id) ?? '') ?? 'no such test payment' };
    });
    writeAmendments(tx, declined, at);
    const changes = await super.apply(tx, others);
    const late = changes.flatMap(({ order }) => (order.status === 'cancelled' && outcomes.get(order.id) === 'test_late' ? order : []));
    if (late.length > 0) await payLate(tx, late, at);
    return changes;
  }
}

/** What the timeline says of those that are not paid. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['test_decline', 'payment failed'],
  ['test_late', 'no payment yet'],
  ['test_never', 'no payment yet'],
]);

/** A misspelt word must not pass for a payment. */
const isUnpaid = (outcome: string | undefined): boolean => outcome?.startsWith('test_') === true && outcome !== 'test_approve';

/** Returns what the metadata of each order, or else of its basket, says about its payment. */
async function findOutcomes(tx: Transaction, orders: readonly OrderState[]): Promise<ReadonlyMap<number, string | undefined>> {
  const basketIds = orders.flatMap(({ basketId }) => basketId ?? []);
  const baskets = await tx.query<{ id: number; payment: string | null }>(
    `SELECT id, metadata ->> 'payment' AS payment FROM baskets WHERE id = ANY($1)`,
    [basketIds],
  );
  const ofBasket = new Map(baskets.map(({ id, payment }) => [id, payment ?? undefined]));
  return new Map(orders.map(({ id, metadata, basketId }) => [id, metadata?.['payment'] ?? (basketId === null ? undefined : ofBasket.get(basketId))]));
}

async function payLate(tx: Transaction, orders: readonly OrderState[], at: Date): Promise<void> {
  const payments = orders.map(({ id }) => ({ orderId: id, reference: `test_late-${id}`, state: 'refund-due' as const }));
  savePayments(tx, payments);
  const refundIds = await findRefundIds(tx, payments);
  const steps = orders.flatMap((order, n) => {
    const refundId = refundIds[n];
    return refundId === undefined ? [] : { ...markRefundDue(order, { actor: storeActor, at }), refundId, event: refundDueEvent(refundId, order, at) };
  });
  writeAmendments(tx, steps, at);
}
