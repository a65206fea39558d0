import { randomUUID } from 'node:crypto';
import { Batcher } from '../../../libs/platform/dist/patterns/batcher.js';
import { createLogger } from '../../../libs/platform/dist/logging.js';
import { Database } from '../../../libs/platform/dist/postgres/database.js';
import { storeDatabase } from '../../../apps/store/dist/config.js';
import { OrderIds } from '../../../apps/store/dist/orders/order-ids.js';
import { placeBatch } from '../../../apps/store/dist/orders/orders.service.js';
import { percentile } from '../client.mjs';

const ORDERS = 500;
const policy = /** @type {const} */ ({ provider: 'external', orderTtlMs: 900_000, approvalDelayMs: 5_000, deliveryDelayMs: 15_000, unpaid: { orders: 20, units: 200 }, shownUpTo: 10 });

/**
 * Places single orders alternately by the store's lane and by a plain transaction with the same rules and one statement per row, on
 * the same database: a lone order must not pay for batching.
 * @param {import('../bench.mjs').Bench} bench
 * @returns {Promise<import('../bench.mjs').Row>}
 */
export async function loneOrder({ stack, plants }) {
  const databaseUrl = stack.run.postgres.adminUrl.replace(/\/postgres$/, '/store');
  const database = await Database.connect(storeDatabase({ databaseUrl, databaseCa: '', sandbox: false }, 2), createLogger('bench', 'warn'));
  try {
    const ids = new OrderIds(database);
    const batcher = new Batcher({ name: 'place orders', lanes: 1, maxBatch: 256 }, (batch) =>
      database.transaction(async (tx) => (await placeBatch(tx, /** @type {any[]} */ (batch), policy)).results, { useGenericPlans: true }),
    );
    /** @type {number[]} */
    const batched = [];
    /** @type {number[]} */
    const plain = [];
    // A returning customer, like most.
    const ownerId = randomUUID();
    for (let n = 0; n < ORDERS; n++) {
      const [id = NaN, otherId = NaN] = await ids.draw(2, new Set());
      const order = { id, plantId: plants[n % plants.length] ?? NaN, ownerId };
      batched.push(await took(() => batcher.submit(order.plantId, { ...order, quantity: 1, shipDate: null, externalId: null, metadata: null, shipTo: null, chosenId: undefined, idempotency: undefined })));
      const other = { ...order, id: otherId };
      plain.push(await took(() => placePlainly(database, other)));
    }
    const [ours, anchor] = [percentile(batched, 0.5), percentile(plain, 0.5)];
    return {
      goal: 'P2',
      what: 'a lone order in the store, against a plain transaction, median time',
      wanted: 1.3,
      ratio: ours / anchor,
      atMost: true,
      detail: { milliseconds: { batched: ours, plain: anchor } },
    };
  } finally {
    await database.close();
  }
}

/** @param {() => Promise<unknown>} work @returns {Promise<number>} milliseconds */
async function took(work) {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** @param {Database} database @param {{ id: number, plantId: number, ownerId: string }} order */
function placePlainly(database, { id: orderId, plantId, ownerId }) {
  return database.transaction(async (tx) => {
    const [customer] = await tx.query({ name: 'plain-customer', text: 'SELECT closed FROM customers WHERE user_id = $1 FOR KEY SHARE' }, [ownerId]);
    if (!customer || customer['closed']) throw new Error('the customer does not exist');
    const [stock] = await tx.query({ name: 'plain-lock', text: 'SELECT free FROM stock WHERE plant_id = $1 FOR UPDATE' }, [plantId]);
    if (!stock || stock['free'] < 1) throw new Error(`plant ${plantId} is sold out`);
    await tx.execute(
      {
        name: 'plain-order',
        text: `INSERT INTO orders (id, plant_id, quantity, status, owner_id, version, placed_at, due_at, due_transition)
               VALUES ($1, $2, 1, 'placed', $3, 1, now(), now() + interval '15 minutes', 'expire')`,
      },
      [orderId, plantId, ownerId],
    );
    await tx.execute(
      {
        name: 'plain-transition',
        text: `INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, event_id, body)
               VALUES ($1, 1, 'placed', now(), $2, 'placed', $2::text::uuid, $3, $4)`,
      },
      [orderId, ownerId, randomUUID(), JSON.stringify({ event: 'order.placed', timestamp: new Date().toISOString(), data: { orderId, plantId, quantity: 1 } })],
    );
    await tx.execute({ name: 'plain-delta', text: 'INSERT INTO inventory_deltas (available, pending, sold) VALUES (-1, 1, 0)' });
    await tx.execute(
      { name: 'plain-stock', text: 'UPDATE stock SET free = free - 1, reserved = reserved + 1, version = version + 1 WHERE plant_id = $1' },
      [plantId],
    );
  });
}
