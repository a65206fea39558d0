import type { Order } from '@plant-shop/contracts/store';
import { CodedError } from '@plant-shop/platform/errors';
import type { IdempotencyKey } from '@plant-shop/platform/idempotency/idempotency-key';
import { saveAnswers, SavedAnswers } from '@plant-shop/platform/idempotency/saved-answers';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import { Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import type { Due } from '../checkout/checkout.js';
import { shareCustomers } from '../customers/customers.repository.js';
import { lockStock } from '../stock/stock.repository.js';
import { type OrderState, toOrder } from './order.js';
import { claimOrderIds, holdDrawnIds, startOf, writePlacedOrders } from './orders.repository.js';
import { decidePlacing, type Placing, type PlacingFacts } from './placing.js';

export interface BatchEntry extends Placing {
  /** Whether the client chose the id. Chosen ids are always claimed; drawn ones only after a collision, since it is rare. */
  readonly idIsChosen: boolean;
  readonly idempotency: IdempotencyKey | undefined;
}

/** What became of one entry: the order placed, the answer that its twin got, or why not. */
export type BatchResult = Versioned<Order> | Replayed | CodedError;

/**
 * Places a batch in one transaction of ordered steps, not in one clever statement: modifying CTEs have no order, and
 * `ON CONFLICT DO NOTHING` hides the winner. Lock order as everywhere: idempotency keys, customers, ids, stock by ascending
 * plant id; all are asked for in one round trip. Then the decision in memory; then one write, with the COMMIT behind it.
 */
export async function placeBatch(
  tx: Transaction,
  given: readonly BatchEntry[],
  due: Due,
  { holdsDrawnIds = false }: { readonly holdsDrawnIds?: boolean } = {},
): Promise<BatchResult[]> {
  const [saved, closedCustomers, takenIds, stock, placedAt] = await Promise.all([
    SavedAnswers.lock(tx, given.flatMap((one) => one.idempotency ?? [])),
    shareCustomers(tx, unique(given.map((one) => one.ownerId))),
    claimOrderIds(tx, unique(chosenIds(given))),
    lockStock(tx, unique(given.map((one) => one.plantId))),
    startOf(tx),
  ]);
  const entries = holdsDrawnIds ? await withHeldIds(tx, given) : given;
  const facts = { closedCustomers, takenIds, stock: new Map(stock.map((row) => [row.plantId, row])) };
  const repeated = entries.map((one) => one.idempotency && saved.answerOrRefusal(one.idempotency));
  const placed = placeNew(tx, entries.filter((_, n) => !repeated[n]), facts, { due, placedAt });
  return entries.map((one, n) => repeated[n] ?? placed.get(one) ?? notDecided());
}

/** Holds the drawn ids, after all other locks: none of these is waited for. */
async function withHeldIds(tx: Transaction, entries: readonly BatchEntry[]): Promise<BatchEntry[]> {
  const drawn = entries.filter((one) => !one.idIsChosen).map((one) => one.orderId);
  const held = (await holdDrawnIds(tx, drawn, new Set(chosenIds(entries)))).values();
  return entries.map((one) => (one.idIsChosen ? one : { ...one, orderId: held.next().value ?? notDecided() }));
}

/** Places entries whose keys, if they have one, stand for nothing yet. */
function placeNew(
  tx: Transaction,
  entries: readonly BatchEntry[],
  facts: PlacingFacts,
  times: { readonly due: Due; readonly placedAt: Date },
): ReadonlyMap<BatchEntry, BatchResult> {
  const decisions = decidePlacing(entries, facts);
  // A twin in the same batch was decided as the very entry that was placed for it.
  const accepted = entries.filter((one, n) => decisions[n] === one);
  if (accepted.length > 0) writePlacedOrders(tx, accepted, times.due);
  const answers = new Map(accepted.map((one) => [one, answerOf(placedOrder(one, times))]));
  saveAnswers(
    tx,
    accepted.flatMap((one) => (one.idempotency ? [{ key: one.idempotency, answer: answers.get(one) }] : [])),
  );
  return new Map<BatchEntry, BatchResult>(
    entries.map((one, n) => {
      const decision = decisions[n] ?? notDecided();
      if (decision instanceof CodedError) return [one, decision];
      const answer = answers.get(decision) ?? notDecided();
      return [one, decision === one ? answer : new Replayed(answer.value, answer.facts)];
    }),
  );
}

const answerOf = (order: OrderState): Versioned<Order> => new Versioned(toOrder(order), order.version);

function notDecided(): never {
  throw new Error('a batch decides each of its entries');
}

const chosenIds = (entries: readonly BatchEntry[]): number[] =>
  entries.filter((one) => one.idIsChosen).map((one) => one.orderId);

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];

const placedOrder = (
  { orderId, plantId, quantity, shipDate, ownerId }: Placing,
  { due, placedAt }: { readonly due: Due; readonly placedAt: Date },
): OrderState => ({
  id: orderId,
  plantId,
  quantity,
  shipDate,
  status: 'placed',
  ownerId,
  version: 1,
  placedAt,
  dueAt: new Date(placedAt.getTime() + due.inMs),
  dueMove: due.move,
  paidAt: null,
  carrier: null,
  trackingNumber: '',
  refund: null,
});
