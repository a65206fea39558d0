import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ListOrders, type Order, store } from '@plant-shop/contracts/store';
import { createLogger } from '@plant-shop/platform/logging';
import type { Database } from '@plant-shop/platform/postgres/database';
import { contextFor } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';
import { OrderArchive } from './order-archive.js';

const { addOrderNote, cancelOrder, cancelOrderByStaff, closeCustomer, completeRefund, deliverOrder, getBasket, getOrder, getTimeline, placeBasket, placeOrder, reportPayment, shipOrder, transferOrder } = store;
const archiveAfterDays = 400;
const shipTo = { name: 'Ada', city: 'London' };

describe('old orders', () => {
  let shop: StoreFixture;
  let databases: Database[];
  let plantId: number;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2, usernames: [1, 2], unpaidOrders: 1_000 });
    databases = [await shop.database(), await shop.database()];
    plantId = await shop.plant(100_000);
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    for (const one of databases) await one.close();
    await shop.stop();
  });

  const place = (n: number, order: object = {}): Promise<Order> => shop.caller.call(placeOrder, { order: { plantId, ...order } }, customer(n));
  const cancel = ({ id }: Order, n: number) => shop.caller.call(cancelOrder, { orderId: id }, customer(n));
  let payments = 0;
  const pay = (orderId: number, reference = `payment ${++payments}`) => shop.caller.call(reportPayment, { orderId, payment: { outcome: 'succeeded', reference } }, staff);
  async function cancelled(n: number, order: object = {}): Promise<number> {
    const placed = await place(n, order);
    await cancel(placed, n);
    return placed.id;
  }
  async function delivered(n: number, order: object = {}): Promise<number> {
    const { id: orderId } = await place(n, order);
    await pay(orderId);
    await shop.caller.call(shipOrder, { orderId, shipment: { carrier: 'Post', trackingNumber: `T${orderId}` } }, staff);
    await shop.caller.call(deliverOrder, { orderId }, staff);
    return orderId;
  }

  const counted = () =>
    until(async () => {
      const [left] = await shop.rows<{ left: string }>(`SELECT count(*) AS left FROM order_transitions, order_counts_head AS head WHERE (order_transitions.counted OR feed_seq <= head.counted) IS NOT TRUE`);
      return Number(left?.left) === 0;
    });
  /**
   * Makes everything that has happened so far older, and drops events as the feed's retention does. The newest event is never dropped, so that
   * its order does not move: it is of an order placed last, after all others have their numbers, since a placing has its own at once.
   */
  async function age(days = 500): Promise<void> {
    await counted();
    await place(3);
    await counted();
    for (const [table, column] of [['orders', 'placed_at'], ['orders', 'updated_at'], ['order_transitions', 'at'], ['order_metadata', 'placed_at'], ['baskets', 'placed_at']] as const) {
      await shop.rows(`UPDATE ${table} SET ${column} = ${column} - $1 * interval '1 day'`, [days]);
    }
    await shop.rows('UPDATE order_transitions SET body = NULL WHERE feed_seq < (SELECT head FROM feed_head)');
    await shop.rows('UPDATE feed_kept SET oldest = (SELECT head FROM feed_head)');
  }
  const archive = (n = 0) => new OrderArchive(databases[n]!, { archiveAfterDays }, createLogger('store', 'fatal'));
  async function move(): Promise<void> {
    const { run } = archive();
    while ((await run()) !== false);
  }
  const moveAll = async (): Promise<void> => {
    await age();
    await move();
  };
  const tableOf = async (orderId: number): Promise<string[]> => (await shop.rows<{ of: string }>('SELECT tableoid::regclass::text AS of FROM orders WHERE id = $1', [orderId])).map((row) => row.of);
  const stepsOf = async (orderId: number): Promise<string[]> =>
    (await shop.rows<{ of: string }>('SELECT tableoid::regclass::text AS of FROM order_transitions WHERE order_id = $1 ORDER BY order_version', [orderId])).map((row) => row.of);
  /** Compares the numbers of orders with their rows. */
  const expectCounted = async (): Promise<void> => {
    const { counts } = await shop.caller.call(store.countOrders, { owner: '*' }, staff);
    const rows = await shop.rows(`SELECT status, carrier IS NOT NULL AS shipped, coalesce(refund, 'none') AS refund, count(*)::integer AS orders FROM orders GROUP BY 1, 2, 3`);
    const sorted = (all: readonly object[]): string[] => all.map((one) => JSON.stringify(one)).sort();
    expect(sorted(counts.map(({ status, shipped, refund = 'none', orders }) => ({ status, shipped, refund, orders })))).toEqual(sorted(rows));
  };
  const list = (request: Partial<ListOrders>, who = staff) => shop.caller.pages(store.listOrders, request, who);

  it('are read as before: alone, in every list, count, basket, timeline and in the feed (slow)', async () => {
    const orderId = await delivered(1, { externalId: 'web-1', metadata: { channel: 'web' }, shipTo });
    const plain = await cancelled(1);
    const { id: basketId, orders } = await shop.caller.call(placeBasket, { basket: { lines: [{ plantId }, { plantId }], externalId: 'basket' } }, customer(2));
    for (const { id } of orders) await shop.caller.call(cancelOrder, { orderId: id }, customer(2));
    await shop.caller.call(addOrderNote, { orderId, note: { text: 'rang' } }, staff);
    const refunded = await cancelled(1);
    await outcomeOf(pay(refunded, 'late'));
    const [refund] = await shop.caller.call(store.listRefunds, { status: 'due' }, staff);
    await shop.caller.call(completeRefund, { refundId: refund!.id, completion: { reference: 'back' } }, staff);
    const scarce = await shop.plant(1);
    await cancel(await shop.caller.call(placeOrder, { order: { plantId: scarce } }, customer(1)), 1);
    await age();
    const ids = [orderId, plain, refunded, ...orders.map(({ id }) => id)];
    const read = async () => ({
      orders: await Promise.all(ids.map((id) => shop.caller.call(getOrder, { orderId: id }, staff))),
      timelines: await Promise.all(ids.map((id) => shop.caller.pages(getTimeline, { orderId: id, limit: 2 }, staff))),
      basket: await shop.caller.call(getBasket, { basketId }, customer(2)),
      lists: await Promise.all(
        [{}, { owner: 'user-1' }, { plantId }, { status: ['cancelled' as const] }, { externalId: 'web-1' }, { externalId: 'basket' }, { metadata: { channel: 'web' } }, { shipped: true },
          { shipped: false }, { refund: 'completed' as const }, { q: `t${orderId}` }, { q: 'web-1' }, { q: String(basketId) }, { q: 'user-' }, { sort: 'placedAt' as const },
        ].map((one) => list({ owner: '*', limit: 2, ...one })),
      ),
      counts: await Promise.all([{ owner: '*' }, { owner: 'user-1' }, { owner: '*', plantId }, { owner: '*', q: 'user-1' }].map((one) => shop.caller.call(store.countOrders, one, staff))),
      refunds: await shop.caller.pages(store.listRefunds, {}, staff),
      feed: await Promise.all([0, 1, 5].map(async (after) => {
        const [event] = await shop.rows<{ id: string }>('SELECT event_id AS id FROM order_transitions WHERE feed_seq = $1', [after]);
        return shop.caller.call(store.feedRead, { follower: 'test', after, ...(event && { afterId: event.id }), limit: 10 });
      })),
      findings: await shop.caller.call(store.reconcileOrders, {}),
    });
    const before = await read();
    expect(before.lists.every((pages) => pages.flat().length > 0)).toBe(true);
    expect(before.feed.every(({ matches }) => matches)).toBe(true);
    await move();
    for (const id of ids) expect([...(await tableOf(id)), ...new Set(await stepsOf(id))]).toEqual(['old_orders', 'old_order_steps']);
    // The events of stock, too.
    expect(await shop.rows('SELECT 1 FROM ONLY order_transitions WHERE order_id IS NULL')).toEqual([]);
    expect(await read()).toEqual(before);
  });

  it('are only those that nothing can happen to, that have not changed for long, and whose events are counted and dropped (slow)', async () => {
    const moved = await cancelled(1);
    const placed = (await place(1)).id;
    const approved = (await place(1)).id;
    await pay(approved);
    const refundDue = await cancelled(1);
    await outcomeOf(pay(refundDue));
    const [withEvent, uncounted, changed] = [await cancelled(1), await cancelled(1), await cancelled(1)];
    await age();
    const young = await cancelled(1);
    await age(399);
    await shop.rows(`UPDATE order_transitions SET body = '{}' WHERE order_id = $1 AND order_version = 2`, [withEvent]);
    await shop.rows(`UPDATE orders SET updated_at = now() - interval '399 days' WHERE id = $1`, [changed]);
    await shop.holding('SELECT counted FROM order_counts_head', [], async () => {
      await shop.rows('UPDATE order_transitions SET feed_seq = NULL, event_id = NULL, previous_status = NULL WHERE order_id = $1 AND order_version = 2', [uncounted]);
      await move();
      await shop.rows('UPDATE order_transitions SET counted = true WHERE order_id = $1 AND order_version = 2', [uncounted]);
    });
    expect(await tableOf(moved)).toEqual(['old_orders']);
    for (const id of [placed, approved, refundDue, withEvent, uncounted, changed, young]) expect([id, ...(await tableOf(id)), ...new Set(await stepsOf(id))]).toEqual([id, 'orders', 'order_transitions']);
  });

  it('are on no page twice and missing on none when they move between two pages (slow)', async () => {
    for (let n = 0; n < 8; n++) await cancelled(1);
    await age();
    for (const sort of ['placedAt', '-placedAt'] as const) {
      await shop.rows('WITH moved AS (DELETE FROM old_orders RETURNING *) INSERT INTO orders SELECT * FROM moved');
      const ids: number[] = [];
      let cursor: string | undefined;
      for (let n = 0; n === 0 || cursor !== undefined; n++) {
        if (n === 2) await move();
        const page = await shop.caller.client.callRaw(store.listOrders, { owner: '*', sort, limit: 3, ...(cursor !== undefined && { cursor }) }, contextFor(staff));
        ids.push(...(JSON.parse(Buffer.from(page.payload).toString()) as Order[]).map(({ id }) => id));
        cursor = page.next;
      }
      const all = await shop.rows<{ id: string }>(`SELECT id FROM orders ORDER BY placed_at ${sort === 'placedAt' ? 'ASC' : 'DESC'}, id ${sort === 'placedAt' ? 'ASC' : 'DESC'}`);
      expect(ids).toEqual(all.map(({ id }) => Number(id)));
      expect(await shop.rows('SELECT 1 FROM old_orders LIMIT 1')).toHaveLength(1);
    }
  });

  it('keep their ids and external ids (slow)', async () => {
    await cancelled(1, { id: 77, externalId: 'kept' });
    await moveAll();
    expect(await tableOf(77)).toEqual(['old_orders']);
    expect(await outcomeOf(place(2, { id: 77 }))).toBe('order-exists');
    await expect(place(1, { externalId: 'kept' })).rejects.toMatchObject({ code: 'external-id-exists', details: { orderId: 77 } });
    expect(await outcomeOf(place(2, { externalId: 'kept' }))).toBe('placed');
  });

  it('answer changes as the others do, and are among these again if they change (slow)', async () => {
    const twins = async (make: () => Promise<number>): Promise<[number, number]> => [await make(), await make()];
    const [oldDelivered, newDelivered] = await twins(() => delivered(1));
    const [oldCancelled, newCancelled] = await twins(() => cancelled(1));
    await moveAll();
    for (const [id, of] of [[newDelivered, newCancelled]].flat().entries()) {
      // As if they had never been old.
      await shop.rows('WITH moved AS (DELETE FROM old_orders WHERE id = $1 RETURNING *) INSERT INTO orders SELECT * FROM moved', [of]);
      expect([id, ...(await tableOf(of))]).toEqual([id, 'orders']);
    }
    const changes: ((orderId: number) => Promise<unknown>)[] = [
      (orderId) => shop.caller.call(shipOrder, { orderId, shipment: { carrier: 'Post', trackingNumber: 'other' } }, staff),
      (orderId) => shop.caller.call(deliverOrder, { orderId }, staff),
      (orderId) => shop.caller.call(cancelOrder, { orderId }, customer(1)),
      (orderId) => shop.caller.call(cancelOrderByStaff, { orderId, cancellation: { reason: 'died', restock: true } }, staff),
      (orderId) => shop.caller.call(transferOrder, { orderId, transfer: { username: 'user-2' } }, staff),
      (orderId) => shop.caller.call(shipOrder, { orderId, shipment: { carrier: 'Post', trackingNumber: 'other' }, ifVersion: 1 }, staff),
    ];
    for (const change of changes) {
      for (const [old, twin] of [[oldDelivered, newDelivered], [oldCancelled, newCancelled]] as const) {
        expect(await outcomeOf(change(old))).toBe(await outcomeOf(change(twin)));
        expect([...(await tableOf(twin)), ...(await tableOf(old))]).toEqual(['orders', expect.stringMatching(/orders/)]);
      }
    }
    expect(await tableOf(oldDelivered)).toEqual(['old_orders']);
    for (const id of [oldCancelled, newCancelled]) await expect(pay(id)).rejects.toMatchObject({ code: 'order-not-payable', details: { payment: 'refund-due' } });
    expect(await tableOf(oldCancelled)).toEqual(['orders']);
    const due = await shop.caller.call(store.listRefunds, { status: 'due' }, staff);
    const { id: refundId } = due.find(({ orderId }) => orderId === oldCancelled)!;
    await shop.caller.call(completeRefund, { refundId, completion: { reference: `back ${refundId}` } }, staff);
    await Promise.all(['one', 'two'].map((text) => shop.caller.call(addOrderNote, { orderId: oldDelivered, note: { text } }, staff)));
    const timeline = await shop.caller.call(getTimeline, { orderId: oldDelivered }, staff);
    expect(timeline.map(({ reason, note }) => note ?? reason).slice(0, 4)).toEqual(['placed', 'payment succeeded', 'shipped', 'delivered']);
    expect(timeline.slice(4).map(({ note }) => note).sort()).toEqual(['one', 'two']);
    expect((await shop.caller.call(getTimeline, { orderId: oldCancelled }, staff)).map(({ reason }) => reason)).toEqual(['placed', 'cancelled', 'refund due', 'refunded']);
    expect(await outcomeOf(shop.caller.call(addOrderNote, { orderId: 424_242, note: { text: 'none' } }, staff))).toBe('order-not-found');
    await expectCounted();
    await moveAll();
    expect([...(await tableOf(oldCancelled)), ...new Set(await stepsOf(oldCancelled))]).toEqual(['old_orders', 'old_order_steps']);
    await expectCounted();
  });

  /** Moves orders in a transaction that stays open while `work` runs, to the old ones or back. */
  async function whileMoving<T>(ids: readonly number[], work: (commit: () => Promise<unknown>, waiting: () => Promise<void>) => Promise<T>): Promise<T> {
    const mover = await shop.sql.connect();
    try {
      await mover.query('BEGIN');
      await mover.query('SELECT pg_advisory_xact_lock(6, 0)');
      await mover.query('WITH moved AS (DELETE FROM ONLY orders WHERE id = ANY($1) RETURNING *) INSERT INTO old_orders SELECT * FROM moved', [ids]);
      const waiting = () => until(async () => (await shop.rows(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)).length > 0);
      return await work(() => mover.query('COMMIT'), waiting);
    } finally {
      await mover.query('ROLLBACK');
      mover.release();
    }
  }

  it('are found by a change that waited while they moved', async () => {
    const [noted, paid] = [await cancelled(1), await cancelled(1)];
    const changes: [number, () => Promise<unknown>, string][] = [
      [noted, () => shop.caller.call(addOrderNote, { orderId: noted, note: { text: 'x' } }, staff), 'placed'],
      [paid, () => pay(paid), 'order-not-payable'],
    ];
    for (const [id, change, outcome] of changes) {
      await whileMoving([id], async (commit, waiting) => {
        const changing = outcomeOf(change());
        await waiting();
        await commit();
        expect(await changing).toBe(outcome);
      });
      expect(await tableOf(id)).toEqual(['orders']);
    }
  });

  it('lose what a customer added when the account is closed, also while they move (slow)', async () => {
    for (let n = 0; n < 4; n++) await cancelled(8, { externalId: `gone-${n}`, metadata: { n: String(n) }, shipTo });
    await moveAll();
    const close = (n: number) => shop.caller.call(closeCustomer, { userId: customer(n).subject, attempt: 1 });
    expect(await close(8)).toEqual({ openOrders: [] });
    await whileMoving([await cancelled(9, { externalId: 'moving', shipTo })], async (commit, waiting) => {
      const closing = close(9);
      await waiting();
      await commit();
      expect(await closing).toEqual({ openOrders: [] });
    });
    const owners = [customer(8).subject, customer(9).subject];
    expect(await shop.rows('SELECT tableoid::regclass::text AS of, num_nonnulls(external_id, metadata, ship_to) AS added FROM orders WHERE owner_id = ANY($1)', [owners])).toEqual(
      Array.from({ length: 5 }, () => ({ of: 'old_orders', added: 0 })),
    );
    expect(await shop.rows('SELECT 1 FROM order_metadata WHERE owner_id = ANY($1)', [owners])).toEqual([]);
  });

  it('move once if two replicas move them, and entirely or not at all if one crashes (slow)', async () => {
    for (let n = 0; n < 6; n++) await cancelled(2);
    await shop.rows(`INSERT INTO orders (id, plant_id, quantity, status, owner_id, version, placed_at) SELECT 500000 + n, 888, 1, 'cancelled', $1, 0, now() - interval '600 days' FROM generate_series(1, 950) AS n`, [customer(2).subject]);
    await age();
    const all = () => shop.rows('SELECT id, version, status, owner_id, placed_at, updated_at FROM orders ORDER BY id');
    const steps = () => shop.rows('SELECT order_id, order_version, position, feed_seq, event_id FROM order_transitions ORDER BY position');
    const before = [await all(), await steps()];
    const holder = await shop.sql.connect();
    await holder.query('BEGIN; LOCK TABLE old_order_steps IN ACCESS EXCLUSIVE MODE');
    const crashed = outcomeOf(archive().run());
    const blocked = () => shop.rows<{ pid: number }>(`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO old_order_steps%'`);
    await until(async () => (await blocked()).length > 0);
    for (const { pid } of await blocked()) await shop.rows('SELECT pg_terminate_backend($1)', [pid]);
    expect(await crashed).not.toBe('placed');
    await holder.query('ROLLBACK');
    holder.release();
    expect([await all(), await steps()]).toEqual(before);
    expect(await shop.rows('SELECT 1 FROM ONLY orders WHERE plant_id = 888')).toHaveLength(950);
    const runs = [archive(0), archive(1)];
    await until(async () => (await Promise.all(runs.map((one) => one.run()))).every((next) => next === false));
    await move();
    expect([await all(), await steps()]).toEqual(before);
    expect(await shop.rows('SELECT 1 FROM ONLY orders WHERE plant_id = 888')).toEqual([]);
    await shop.rows('DELETE FROM orders WHERE plant_id = 888');
  });

  it('serve a replica of 1.0.0, which knows one table, and what it changes there is right', async () => {
    const orderId = await cancelled(1);
    await moveAll();
    const old = await shop.sql.connect();
    await old.query('BEGIN');
    expect((await old.query('SELECT id FROM orders WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE', [[orderId]])).rows).toHaveLength(1);
    await old.query(`INSERT INTO payments (order_id, reference, state, refund_id) VALUES ($1, 'of 1.0.0', 'refund-due', nextval('refund_ids'))`, [orderId]);
    await old.query(`INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, refund) SELECT id, 3, status, clock_timestamp(), owner_id, 'refund due', owner_id, 'due' FROM orders WHERE id = $1`, [orderId]);
    await old.query(`UPDATE orders SET version = 3, refund = 'due', updated_at = clock_timestamp() FROM unnest($1::bigint[]) AS amended (id) WHERE orders.id = amended.id`, [[orderId]]);
    await old.query('COMMIT');
    old.release();
    await expectCounted();
    const [refund] = (await shop.caller.call(store.listRefunds, { status: 'due' }, staff)).filter((one) => one.orderId === orderId);
    await shop.caller.call(completeRefund, { refundId: refund!.id, completion: { reference: 'of 1.0.0 back' } }, staff);
    expect(await shop.caller.call(getOrder, { orderId }, staff)).toMatchObject({ refund: 'completed' });
    await expectCounted();
    expect(await tableOf(orderId)).toEqual(['orders']);
  });

  it('have the indexes of the others, but for those of what may still happen', async () => {
    const indexes = async (table: string) =>
      (await shop.rows<{ indexdef: string }>('SELECT indexdef FROM pg_indexes WHERE tablename = $1', [table])).map(({ indexdef }) => indexdef.replace(/INDEX \S+ ON \S+/, 'INDEX')).sort();
    const without = (all: readonly string[], ...words: string[]) => all.filter((one) => !words.some((word) => one.includes(word)));
    expect(await indexes('old_orders')).toEqual(without(await indexes('orders'), '(due_at)'));
    expect(await indexes('old_order_steps')).toEqual(without(await indexes('order_transitions'), '("position")', 'counted IS NULL'));
  });
});

it('a replica moves them by itself, while orders are placed (slow)', async () => {
  const shop = await StoreFixture.start({ archiveAfterDays });
  const plantId = await shop.plant(1_000);
  await shop.rows(`INSERT INTO orders (id, plant_id, quantity, status, owner_id, version, placed_at) SELECT n, 888, 1, 'cancelled', gen_random_uuid(), 0, now() - interval '401 days' FROM generate_series(1, 450) AS n`);
  await shop.addReplica();
  const placed: number[] = [];
  await until(async () => {
    placed.push((await shop.caller.call(placeOrder, { order: { plantId } }, customer(1))).id);
    return (await shop.rows('SELECT 1 FROM ONLY orders WHERE plant_id = 888 LIMIT 1')).length === 0;
  });
  expect(await shop.rows('SELECT id FROM old_orders')).toHaveLength(450);
  expect(await shop.rows('SELECT id FROM ONLY orders WHERE id = ANY($1)', [placed])).toHaveLength(placed.length);
  expect(await shop.violations()).toEqual([]);
  await shop.stop();
});

it('a sandbox deletes old orders, too', async () => {
  const shop = await StoreFixture.start({ sandbox: true, simulatedApprovalDelayMs: 3_600_000, orderTtlMs: 7_200_000 });
  const plantId = await shop.plant();
  const { id: orderId } = await shop.caller.call(placeOrder, { order: { plantId, id: 5 } }, customer(1));
  await shop.caller.call(cancelOrder, { orderId }, customer(1));
  await until(async () => (await shop.rows('SELECT 1 FROM order_transitions WHERE feed_seq IS NULL')).length === 0);
  await shop.rows('UPDATE order_transitions SET body = NULL');
  for (const [from, to, column] of [['orders', 'old_orders', 'id'], ['order_transitions', 'old_order_steps', 'order_id']] as const) {
    await shop.rows(`WITH moved AS (DELETE FROM ONLY ${from} WHERE ${column} = $1 RETURNING *) INSERT INTO ${to} SELECT * FROM moved`, [orderId]);
  }
  expect(await shop.caller.call(store.resetSandbox, {}, staff)).toEqual({ deletedOrders: 1 });
  expect((await shop.caller.call(placeOrder, { order: { plantId, id: 5 } }, customer(1))).id).toBe(5);
  await shop.stop();
});

it('the script of operators removes those before a day, with their steps (slow)', async () => {
  const shop = await StoreFixture.start();
  await shop.rows(`INSERT INTO old_orders (id, plant_id, quantity, status, owner_id, version, placed_at) SELECT n, 1, 1, 'cancelled', gen_random_uuid(), 1, '2026-01-01'::timestamptz + n * interval '1 minute' FROM generate_series(1, 2600) AS n`);
  await shop.rows(`INSERT INTO old_order_steps (order_id, order_version, new_status, at, actor, reason, owner_id, counted, position) SELECT id, 1, 'cancelled', placed_at, 'store', 'placed', owner_id, true, id FROM old_orders`);
  const script = await readFile(new URL('../../../../deploy/postgres/remove-old-orders.sql', import.meta.url), 'utf8');
  const client = await shop.sql.connect();
  await client.query(`SELECT set_config('shop.before', '2026-01-02 19:00', false), set_config('timezone', 'UTC', false)`);
  await client.query(script.slice(script.indexOf('DO $$')));
  client.release();
  expect(await shop.rows('SELECT count(*)::integer AS n, min(id)::integer AS first FROM old_orders')).toEqual([{ n: 21, first: 2_580 }]);
  expect(await shop.rows('SELECT count(*)::integer AS n, min(order_id)::integer AS first FROM old_order_steps')).toEqual([{ n: 21, first: 2_580 }]);
  await shop.stop();
});
