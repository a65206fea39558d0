import { afterEach, describe, expect, it } from '@jest/globals';
import { store } from '@plant-shop/contracts/store';
import { until } from '@plant-shop/testing/until';
import { customer, staff, StoreFixture } from '../store.spec.fixture.js';
import { lockDueOrder, lockDueOrders, lockDueOrdersById, setOrderAside, readDue } from './due-orders.repository.js';

describe('due transitions', () => {
  let shop: StoreFixture;
  afterEach(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const place = async (plantId: number) =>
    (await shop.caller.call(store.placeOrder, { order: { plantId } }, customer(1))).id;
  const get = (orderId: number) => shop.caller.call(store.getOrder, { orderId }, customer(1));
  const statusOf = async (orderId: number) => (await get(orderId)).status;

  /**
   * Starts measuring how much longer than planned the machine takes for what the store does between the due time of an order and its expiry,
   * at worst: the poll that just missed it, a pause, and the next poll. Call the result to stop: it resolves to the worst delay in ms.
   */
  const measureMachineDelay = (): (() => Promise<number>) => {
    let isOver = false;
    const pauseMs = 20;
    const worst = (async () => {
      const database = await shop.database();
      // As many statements as a poll waits for.
      const poll = async (): Promise<void> => {
        await database.query('SELECT 1');
        await database.transaction(async (tx) => {
          for (let locks = 1; locks <= 2; locks++) await tx.execute('SELECT 1');
        });
      };
      await poll();
      let ms = 0;
      while (!isOver) {
        const begun = performance.now();
        await poll();
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        await poll();
        ms = Math.max(ms, performance.now() - begun - pauseMs);
      }
      await database.close();
      return ms;
    })();
    return () => {
      isOver = true;
      return worst;
    };
  };

  it('an unpaid order expires, and its units are free again', async () => {
    shop = await StoreFixture.start({ orderTtlMs: 100 });
    const plantId = await shop.plant(1);
    const orderId = await place(plantId);
    await until(async () => (await statusOf(orderId)) === 'cancelled');
    await expect(place(plantId)).resolves.toBeGreaterThan(orderId);
    expect(await shop.rows('SELECT reason FROM order_transitions WHERE order_id = $1 ORDER BY position', [orderId])).toEqual([
      { reason: 'placed' },
      { reason: 'expired without payment' },
    ]);
  });

  it('a simulated delivery is due at the ship date, however long the approval waited for its locks', async () => {
    shop = await StoreFixture.start({ paymentProvider: 'simulated', simulatedApprovalDelayMs: 3_000_000 });
    const plantId = await shop.plant();
    const shipDate = new Date(Date.now() + 3_600_000);
    const { id: orderId } = await shop.caller.call(store.placeOrder, { order: { plantId, shipDate: shipDate.toISOString() } }, customer(1));
    await shop.holding('SELECT 1 FROM stock WHERE plant_id = $1', [plantId], async (waiting) => {
      await shop.rows('UPDATE orders SET due_at = now()');
      await waiting(1);
      await shop.rows('SELECT pg_sleep(0.05)');
    });
    await until(async () => (await statusOf(orderId)) === 'approved');
    expect(await shop.rows('SELECT due_at, due_transition FROM orders')).toEqual([{ due_at: shipDate, due_transition: 'deliver' }]);
  });

  it.each([100, 700, 1_500])('orders that expire after %d ms do so in time, even if nothing was due before', async (orderTtlMs) => {
    shop = await StoreFixture.start({ orderTtlMs });
    const plantId = await shop.plant(8);
    const worstOfMachine = measureMachineDelay();
    for (let n = 0; n < 8; n++) {
      await place(plantId);
      await new Promise((resolve) => setTimeout(resolve, 130));
    }
    await until(async () => (await shop.rows(`SELECT 1 FROM orders WHERE status = 'placed'`)).length === 0);
    const lateness = await shop.rows<{ ms: number }>(
      `SELECT (extract(epoch FROM expired.at - placed.at) * 1000 - $1)::float8 AS ms
       FROM order_transitions AS placed JOIN order_transitions AS expired USING (order_id)
       WHERE placed.new_status = 'placed' AND expired.new_status = 'cancelled'`,
      [orderTtlMs],
    );
    expect(lateness).toHaveLength(8);
    // 200 ms by design plus the transaction, plus the delay of a busy machine.
    expect(Math.max(...lateness.map(({ ms }) => ms))).toBeLessThan(450 + (await worstOfMachine()));
    expect(Math.min(...lateness.map(({ ms }) => ms))).toBeGreaterThan(-20);
  });

  it('the simulated provider approves and delivers, with one event each', async () => {
    shop = await StoreFixture.start({ paymentProvider: 'simulated', simulatedApprovalDelayMs: 50, simulatedDeliveryDelayMs: 50 });
    const orderId = await place(await shop.plant(1));
    await until(async () => (await statusOf(orderId)) === 'delivered');
    expect(await get(orderId)).toMatchObject({ status: 'delivered', complete: true });
    const events = await shop.rows<{ body: string | null }>(
      'SELECT body FROM order_transitions WHERE order_id = $1 ORDER BY position',
      [orderId],
    );
    expect(events.map(({ body }) => (body === null ? null : (JSON.parse(body) as unknown)))).toEqual([
      expect.objectContaining({ event: 'order.placed' }),
      {
        event: 'order.status_changed',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        data: {
          orderId,
          plantId: 1,
          previousStatus: 'placed',
          newStatus: 'approved',
          trackingNumber: expect.stringMatching(/^PS\d{16}$/),
        },
      },
      expect.objectContaining({ data: expect.objectContaining({ previousStatus: 'approved', newStatus: 'delivered' }) }),
    ]);
  });

  it('orders that come due together are processed once by two replicas', async () => {
    shop = await StoreFixture.start({ replicas: 2, orderTtlMs: 3_600_000 });
    const plantId = await shop.plant(300);
    const ids = await Promise.all(Array.from({ length: 300 }, () => place(plantId)));
    // All become due at the same instant, while two replicas poll.
    await shop.rows('UPDATE orders SET due_at = now()');
    await until(async () => (await shop.rows(`SELECT 1 FROM orders WHERE status = 'placed'`)).length === 0);
    const changes = await shop.rows(`SELECT order_id, count(*) FROM order_transitions WHERE new_status = 'cancelled' GROUP BY 1`);
    expect(changes).toHaveLength(ids.length);
    expect(changes.every((one) => one['count'] === 1)).toBe(true);
  });

  it('expiry, approval and cancel of one order have one outcome: 300 races', async () => {
    shop = await StoreFixture.start({ replicas: 2, paymentProvider: 'simulated', simulatedApprovalDelayMs: 30, simulatedDeliveryDelayMs: 3_600_000 });
    const plantId = await shop.plant(300);
    const ids = await Promise.all(Array.from({ length: 300 }, () => place(plantId)));
    await Promise.allSettled(
      ids.map(async (orderId, n) => {
        await new Promise((resolve) => setTimeout(resolve, n % 100));
        await shop.caller.call(store.cancelOrder, { orderId }, customer(1));
      }),
    );
    await until(async () => (await shop.rows(`SELECT 1 FROM orders WHERE status = 'placed'`)).length === 0);
    const outcomes = await shop.rows(`SELECT status, version, count(*) FROM orders GROUP BY 1, 2 ORDER BY 1`);
    expect(outcomes.every((one) => one['version'] === 2)).toBe(true);
    expect(outcomes.reduce((sum, one) => sum + Number(one['count']), 0)).toBe(300);
  });

  it('a poll reads the next order only, also after the shop has grown', async () => {
    shop = await StoreFixture.start({ orderTtlMs: 3_600_000 });
    const plantId = await shop.plant(1);
    const orderId = await place(plantId);
    const database = await shop.database();
    let read = NaN;
    const rolledBack = new Error('These orders were not placed.');
    const trying = database.transaction(async (tx) => {
      for (let n = 0; n < 6; n++) await readDue(tx);
      await tx.execute(
        `INSERT INTO orders (id, plant_id, quantity, status, owner_id, version, placed_at, due_at, due_transition)
         SELECT id + n, plant_id, 1, status, owner_id, version, placed_at, due_at + n * interval '1 ms', due_transition FROM orders, generate_series(1, 3000) AS n WHERE id = $1`,
        [orderId],
      );
      const rows = async (): Promise<number> =>
        (await tx.query<{ rows: number }>(`SELECT sum(pg_stat_get_xact_tuples_returned(oid))::bigint AS rows FROM pg_class WHERE relname IN ('orders', 'orders_due')`))[0]?.rows ?? NaN;
      const before = await rows();
      await readDue(tx);
      read = (await rows()) - before;
      throw rolledBack;
    });
    await expect(trying).rejects.toBe(rolledBack);
    await database.close();
    expect(read).toBeLessThan(10);
  });

  it('orders that are not due any more are left alone, however they are looked up', async () => {
    shop = await StoreFixture.start({ orderTtlMs: 3_600_000 });
    const plantId = await shop.plant(3);
    const [due, later, third] = [await place(plantId), await place(plantId), await place(plantId)];
    const database = await shop.database();
    await database.transaction(async (tx) => {
      // Only this transaction sees that one of them is due, so that the store leaves it to the test.
      await tx.execute(`UPDATE orders SET due_at = now() - interval '1 second' WHERE id = $1`, [due]);
      expect((await lockDueOrdersById(tx, [third, later, due])).map(({ id }) => id)).toEqual([due]);
      expect((await lockDueOrders(tx, 10)).map(({ id }) => id)).toEqual([due]);
      expect(await lockDueOrder(tx, due)).toMatchObject({ id: due, transition: 'expire' });
      expect(await lockDueOrder(tx, later)).toBeUndefined();
    });
    await database.close();
    await until(async () => (await statusOf(due)) === 'cancelled');
    expect([await statusOf(later), await statusOf(third)]).toEqual(['placed', 'placed']);
  });

  describe('an order whose transition Postgres rejects', () => {
    const bad = 13;
    const dryRun = { dryRun: true };
    const openOrders = () => shop.rows<{ quantity: number }>(`SELECT quantity FROM orders WHERE status = 'placed'`);
    const setAside = async (): Promise<number | undefined> =>
      (await shop.replicas[0]!.metrics.getSingleMetric('store_orders_set_aside')?.get())?.values[0]?.value;
    const finding = (orderId: number, outcome: string) => ({
      checked: 1,
      findings: [{ orderId, drift: 'order-set-aside', outcome, move: 'expire', sqlState: '23514', constraint: 'no_thirteen' }],
    });
    /** Places orders that are due at once. Postgres rejects the oldest as long as the constraint exists. */
    const placeWithBad = async (count: number): Promise<number> => {
      const plantId = await shop.plant(10_000);
      const order = { plantId, quantity: bad };
      const { id } = await shop.caller.call(store.placeOrder, { order }, customer(1));
      await Promise.all(Array.from({ length: count - 1 }, () => place(plantId)));
      await shop.rows(`ALTER TABLE orders ADD CONSTRAINT no_thirteen CHECK (quantity <> ${bad} OR status = 'placed')`);
      await shop.rows(`UPDATE orders SET due_at = now() - (quantity * interval '1 second')`);
      return id;
    };
    const dropConstraint = () => shop.rows('ALTER TABLE orders DROP CONSTRAINT no_thirteen');

    it('is set aside, and all others are processed', async () => {
      shop = await StoreFixture.start({ replicas: 2 });
      // More than one batch of 500.
      const orderId = await placeWithBad(600);
      await until(async () => (await openOrders()).length === 1, 20_000);
      expect(await openOrders()).toEqual([{ quantity: bad }]);
      expect(await shop.rows('SELECT order_id::int AS id, due_transition, sqlstate, broken FROM orders_set_aside')).toEqual([
        { id: orderId, due_transition: 'expire', sqlstate: '23514', broken: 'no_thirteen' },
      ]);
      // Orders that come due later do not wait for it.
      await place(await shop.plant());
      await shop.rows(`UPDATE orders SET due_at = now() WHERE status = 'placed'`);
      await until(async () => (await openOrders()).length === 1);
      await until(async () => (await setAside()) === 1, 15_000);
    }, 60_000);

    it('is set aside by one replica for each of its versions', async () => {
      shop = await StoreFixture.start();
      const order = { id: await place(await shop.plant()), version: 1, transition: 'expire' as const };
      const database = await shop.database();
      const error = new Error('rejected');
      const tried = database.transaction(async (tx) => {
        await tx.execute(`UPDATE orders SET due_at = now() - interval '1 second'`);
        expect(await lockDueOrders(tx, 10)).toHaveLength(1);
        await setOrderAside(tx, order, error);
        expect(await lockDueOrders(tx, 10)).toEqual([]);
        await tx.execute('UPDATE orders SET version = 2');
        expect(await lockDueOrders(tx, 10)).toMatchObject([{ id: order.id, version: 2 }]);
        throw new Error('undo');
      });
      await expect(tried).rejects.toThrow('undo');
      expect(await setOrderAside(database, order, error)).toBe(true);
      expect(await setOrderAside(database, order, error)).toBe(false);
      expect(await setOrderAside(database, { ...order, version: 2 }, error)).toBe(true);
      await database.close();
    });

    it('is shown to the operator, and processed once the cause is removed', async () => {
      shop = await StoreFixture.start({ replicas: 1 });
      const orderId = await placeWithBad(20);
      await until(async () => (await openOrders()).length === 1, 20_000);
      expect(await shop.caller.call(store.reconcileOrders, dryRun)).toEqual(finding(orderId, 'found'));
      expect(await shop.caller.call(store.reconcileOrders, {})).toEqual(finding(orderId, 'left'));
      await dropConstraint();
      expect(await shop.caller.call(store.reconcileOrders, {})).toEqual(finding(orderId, 'mended'));
      expect(await get(orderId)).toMatchObject({ status: 'cancelled' });
      expect(await shop.caller.call(store.reconcileOrders, {})).toEqual({ checked: 0, findings: [] });
    }, 60_000);

    it('is processed when an operator retries it while another transaction holds it', async () => {
      shop = await StoreFixture.start({ replicas: 1 });
      const orderId = await placeWithBad(20);
      await until(async () => (await openOrders()).length === 1, 20_000);
      await dropConstraint();
      const { retried } = await shop.holding('SELECT 1 FROM orders WHERE id = $1', [orderId], async (waiting) => {
        const retried = shop.caller.call(store.reconcileOrders, {});
        await Promise.race([retried, waiting(1)]);
        return { retried };
      });
      expect(await retried).toEqual(finding(orderId, 'mended'));
      expect(await get(orderId)).toMatchObject({ status: 'cancelled' });
      expect(await shop.rows('SELECT 1 FROM orders_set_aside')).toEqual([]);
    }, 60_000);

    it('is retried after it has changed, and no longer set aside once processed', async () => {
      shop = await StoreFixture.start({ replicas: 1 });
      const orderId = await placeWithBad(20);
      await until(async () => (await openOrders()).length === 1, 20_000);
      await dropConstraint();
      await shop.caller.call(store.transferOrder, { orderId, transfer: { username: 'user-2' } }, staff);
      await until(async () => (await openOrders()).length === 0);
      await until(async () => (await shop.rows('SELECT 1 FROM orders_set_aside')).length === 0, 15_000);
    }, 60_000);
  });
});
