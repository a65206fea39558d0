import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type NewOrder, type Order, store } from '@plant-shop/contracts/store';
import { until } from '@plant-shop/testing/until';
import { customer, staff, StoreFixture } from '../store.spec.fixture.js';

const minutes = 60;

describe('when the clock of the database is set back by ten minutes', () => {
  let shop: StoreFixture;
  let plantId: number;
  const start = async (config: Parameters<typeof StoreFixture.start>[0]): Promise<void> => {
    shop = await StoreFixture.start({ ...config, replicas: 2, hasOwnClock: true });
    plantId = await shop.plant();
    await shop.setClock(10 * minutes);
  };
  afterEach(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });
  const place = (given: Partial<NewOrder> = {}): Promise<Order> => shop.caller.call(store.placeOrder, { order: { plantId, ...given } }, customer(1));
  const list = (filter: { placedFrom?: string; placedBefore?: string } = {}): Promise<Order[]> => shop.caller.call(store.listOrders, filter, customer(1));
  const idsOf = (orders: readonly Order[]): number[] => orders.map(({ id }) => id);
  const statusOf = async (orderId: number): Promise<string> => (await shop.caller.call(store.getOrder, { orderId }, customer(1))).status;
  const cancelled = (orderId: number) => until(async () => (await statusOf(orderId)) === 'cancelled', 8_000);

  describe('lists of orders', () => {
    beforeEach(() => start({}));

    it('show later orders before earlier ones, and in no period that was read before', async () => {
      const before = [await place(), await place()];
      const newest = before[1]!.placedAt;
      await shop.setClock(0);
      const after = [await place(), await place({ id: 7 }), await place()];
      expect(idsOf(await list())).toEqual(idsOf([...before, ...after]).reverse());
      // A reader goes on from the newest order that it knows; another has read the period up to the first clock.
      expect(idsOf(await list({ placedFrom: newest }))).toEqual(idsOf([before[1]!, ...after]).reverse());
      expect(idsOf(await list({ placedBefore: newest }))).toEqual([before[0]!.id]);
      // The reservation counts from the clock that ends it.
      const left = Date.parse(after[2]!.reservedUntil!) - Date.now();
      expect(left).toBeGreaterThan(3_590_000);
      expect(left).toBeLessThan(3_610_000);
    });

    it('follow the clock again once it has passed, and at once if it was wrong by more than an hour', async () => {
      await place();
      await shop.setClock(5 * 60 * minutes);
      const wrong = await place();
      await shop.setClock(11 * minutes);
      const right = await place();
      expect(Date.parse(right.placedAt)).toBeLessThan(Date.parse(wrong.placedAt));
      expect(Math.abs(Date.parse(right.placedAt) - Date.now() - 11 * minutes * 1_000)).toBeLessThan(30_000);
      // The wrong time is forgotten: the next step back is noticed again.
      await shop.setClock(0);
      expect(Date.parse((await place()).placedAt)).toBeGreaterThan(Date.parse(right.placedAt));
    });
  });

  it('an order that waited for its locks is listed as later than those placed meanwhile', async () => {
    await start({ placingLanes: 4 });
    const other = await shop.plant();
    const { waited, meanwhile } = await shop.holding('SELECT 1 FROM stock WHERE plant_id = $1', [plantId], async (waiting) => {
      const waited = place();
      await waiting(1);
      return { waited, meanwhile: await shop.caller.call(store.placeOrder, { order: { plantId: other } }, customer(2)) };
    });
    const { id } = await waited;
    expect(idsOf(await shop.caller.call(store.listOrders, { owner: '*' }, staff))).toEqual([id, meanwhile.id]);
  });

  it('orders expire after their whole time from then on, not ten minutes later', async () => {
    await start({ orderTtlMs: 2_000 });
    const { id } = await place();
    await shop.setClock(0);
    await cancelled(id);
    const later = await place();
    await cancelled(later.id);
  });

  it('simulated approvals and deliveries go on within seconds; a delivery still waits for its ship date', async () => {
    await start({ paymentProvider: 'simulated', simulatedApprovalDelayMs: 1_000, simulatedDeliveryDelayMs: 1_000, orderTtlMs: 60_000 });
    const shipDate = new Date(Date.now() + 3_600_000).toISOString();
    const [waiting, approved] = [await place({ shipDate }), await place({ shipDate: '2020-01-01T00:00:00Z' })];
    await until(async () => (await statusOf(waiting.id)) === 'approved' && (await statusOf(approved.id)) !== 'placed');
    const fresh = await place();
    await shop.setClock(0);
    await until(async () => (await statusOf(fresh.id)) === 'delivered', 8_000);
    await until(async () => (await statusOf(approved.id)) === 'delivered', 8_000);
    expect(await statusOf(waiting.id)).toBe('approved');
    expect(await shop.rows('SELECT due_at FROM orders WHERE id = $1', [waiting.id])).toEqual([{ due_at: new Date(shipDate) }]);
  });

  it('a delivery goes on that an approval by the wrong clock scheduled for an order placed by the right one', async () => {
    await start({ paymentProvider: 'simulated', simulatedApprovalDelayMs: 1_000, simulatedDeliveryDelayMs: 3_000, orderTtlMs: 60_000 });
    await shop.setClock(0);
    const { id } = await place();
    await shop.setClock(10 * minutes);
    await until(async () => (await statusOf(id)) === 'approved', 8_000);
    await shop.setClock(0);
    await until(async () => (await statusOf(id)) === 'delivered', 12_000);
  });

  it('a declined payment leaves the order the rest of its time', async () => {
    await start({ paymentProvider: 'simulated', simulatedApprovalDelayMs: 1_500, orderTtlMs: 3_000 });
    const { id } = await place();
    await shop.caller.call(store.reportPayment, { orderId: id, payment: { outcome: 'failed', reference: 'declined' } }, staff);
    await shop.setClock(0);
    await cancelled(id);
  });

  it('a store that starts afterwards goes on as well', async () => {
    await start({ orderTtlMs: 2_000 });
    await Promise.all(shop.replicas.map((replica) => replica.stop()));
    shop.replicas.length = 0;
    await shop.rows(
      `INSERT INTO orders (id, plant_id, quantity, status, owner_id, version, placed_at, due_at, due_transition, due_since)
       VALUES (5, $1, 1, 'placed', $2, 1, now() + interval '10 minutes', now() + interval '602 seconds', 'expire', now() + interval '10 minutes')`,
      [plantId, customer(1).subject],
    );
    await shop.rows(
      `INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id) VALUES (5, 1, 'placed', now(), 'x', 'placed', $1)`,
      [customer(1).subject],
    );
    await shop.rows('UPDATE stock SET free = free - 1, reserved = reserved + 1 WHERE plant_id = $1', [plantId]);
    await shop.rows('INSERT INTO inventory_deltas (available, pending, sold) VALUES (-1, 1, 0)');
    await shop.setClock(0);
    await shop.addReplica();
    await cancelled(5);
  });
});

describe('when the clock of the database is set forward by ten minutes', () => {
  it('new orders come due after their delay', async () => {
    const shop = await StoreFixture.start({ orderTtlMs: 1_500, hasOwnClock: true });
    const plantId = await shop.plant();
    await shop.setClock(10 * minutes);
    const { id } = await shop.caller.call(store.placeOrder, { order: { plantId } }, customer(1));
    expect(await shop.rows('SELECT status FROM orders WHERE id = $1', [id])).toEqual([{ status: 'placed' }]);
    await until(async () => (await shop.rows(`SELECT 1 FROM orders WHERE id = $1 AND status = 'cancelled'`, [id])).length === 1, 8_000);
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });
});
