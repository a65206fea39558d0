import { afterEach, describe, expect, it } from '@jest/globals';
import { type NewOrder, type Order, store } from '@plant-shop/contracts/store';
import { until } from '@plant-shop/testing/until';
import { customer, outcomeOf, StoreFixture } from '../store.spec.fixture.js';
import { OrderIds } from './order-ids.js';

const claimer = 666;
const ids = 10_000;
const waitsForLock = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** Assigned ids are consecutive, so any client can claim the next ones. */
describe('assigned order ids', () => {
  let shop: StoreFixture;
  let plantId: number;
  const start = async (replicas: number): Promise<void> => {
    shop = await StoreFixture.start({ replicas });
    plantId = await shop.plant(1_000_000);
  };
  afterEach(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const place = (order: Omit<NewOrder, 'plantId'> = {}, who = 1): Promise<Order> =>
    shop.caller.call(store.placeOrder, { order: { plantId, ...order } }, customer(who), 30_000);
  const claim = (id: number): Promise<string> => outcomeOf(place({ id }, claimer));
  const assign = (): Promise<string> => outcomeOf(place());
  /** Claims an id as another replica does for a client that chose it, without its COMMIT. */
  const claimedSlowly = async (id: number) => {
    const claiming = await shop.sql.connect();
    await claiming.query('BEGIN');
    await claiming.query('SELECT pg_advisory_xact_lock($1)', [id]);
    await claiming.query(
      `INSERT INTO orders (id, plant_id, quantity, status, owner_id, version, placed_at) VALUES ($1, $2, 1, 'placed', gen_random_uuid(), 1, now())`,
      [id, plantId],
    );
    const end = async (statement: 'COMMIT' | 'ROLLBACK'): Promise<void> => {
      await claiming.query(statement);
      claiming.release();
    };
    return { end };
  };
  const blocksDrawn = async (): Promise<number> =>
    (await shop.rows<{ blocks: number }>(`SELECT ((last_value - 1000000001) / 1000)::integer + 1 AS blocks FROM order_ids`))[0]?.blocks ?? 0;

  it.each(['before', 'after'])('one that is claimed in the same batch, just %s, is replaced', async (when) => {
    await start(1);
    for (let n = 0; n < 100; n++) {
      const { id } = await place();
      const both = when === 'before' ? [claim(id + 1), assign()] : [assign(), claim(id + 1)];
      expect(await Promise.all(both)).toEqual(['placed', 'placed']);
    }
  });

  it('one that is claimed while its order is written is replaced, without waiting for the next claim', async () => {
    await start(1);
    const { id } = await place();
    const [first, second] = [await claimedSlowly(id + 1), await claimedSlowly(id + 2)];
    const placed = place();
    try {
      await until(async () => (await shop.rows(waitsForLock)).length > 0);
      await first.end('COMMIT');
      const answered = await Promise.race([placed, new Promise((resolve) => setTimeout(resolve, 3_000, 'still waiting'))]);
      expect(answered).toMatchObject({ status: 'placed' });
      expect((answered as Order).id).toBeGreaterThan(id + 2);
    } finally {
      await second.end('ROLLBACK');
      await placed;
      await shop.rows('DELETE FROM orders WHERE id = $1', [id + 1]);
    }
  });

  it('that a lost connection keeps from being drawn make orders `unavailable`, since none was begun', async () => {
    await start(1);
    const draws = `${waitsForLock} AND query LIKE '%order_ids%'`;
    const locking = await shop.sql.connect();
    try {
      await locking.query('BEGIN');
      await locking.query('LOCK TABLE orders IN ACCESS EXCLUSIVE MODE');
      // Ids are drawn ahead, so only the first orders of a replica need a draw.
      const orders = [assign(), assign()];
      await until(async () => (await shop.rows(draws)).length > 0);
      await shop.rows(draws.replace('SELECT 1', 'SELECT pg_terminate_backend(pid)'));
      expect(await Promise.all(orders)).toEqual(['unavailable', 'unavailable']);
    } finally {
      await locking.query('ROLLBACK');
      locking.release();
    }
    expect(await assign()).toBe('placed');
  });

  it('are not kept until an order that has taken one may be old, with which a write would not collide', async () => {
    await start(1);
    const database = await shop.database();
    const next = async (keepMs: number): Promise<number> => {
      const drawing = new OrderIds(database, keepMs);
      const [first = 0] = await drawing.draw(1, new Set());
      await shop.rows(`INSERT INTO old_orders (id, plant_id, quantity, status, owner_id, version, placed_at) VALUES ($1, 7, 1, 'cancelled', gen_random_uuid(), 0, now())`, [first + 1]);
      await new Promise((resolve) => setTimeout(resolve, 20));
      const [second = 0] = await drawing.draw(1, new Set());
      return second - first;
    };
    expect(await next(60_000)).toBe(1);
    expect(await next(10)).toBeGreaterThan(1);
    await database.close();
  });

  it('10,000 that are claimed ahead make none of 10,000 other orders fail, and cost few draws', async () => {
    await start(2);
    const { id } = await place();
    expect(count(await atOnce(times(ids, (n) => () => claim(id + 1 + n))))).toEqual({ placed: ids });
    const before = await blocksDrawn();
    expect(count(await atOnce(times(ids, () => assign)))).toEqual({ placed: ids });
    // 10 blocks for the placed orders, 10 that were claimed, and those that two replicas have drawn ahead.
    expect((await blocksDrawn()) - before).toBeLessThan(60);
  }, 120_000);

  it('10,000 that are claimed while 10,000 other orders are placed make none of them fail', async () => {
    await start(2);
    const { id } = await place();
    const outcomes = await atOnce(times(ids, (n) => [() => claim(id + 1 + n), assign]).flat());
    const claims = outcomes.filter((_, n) => n % 2 === 0);
    expect(count(outcomes.filter((_, n) => n % 2 === 1))).toEqual({ placed: ids });
    expect(Object.keys(count(claims)).sort()).toEqual(['order-exists', 'placed']);
  }, 120_000);
});

const times = <T>(number: number, work: (n: number) => T): T[] => Array.from({ length: number }, (_, n) => work(n));

/** Runs the work in order, 1,000 at a time. */
async function atOnce<T>(work: readonly (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  await Promise.all(
    times(1_000, async () => {
      for (let n = next++; n < work.length; n = next++) results[n] = await work[n]!();
    }),
  );
  return results;
}

const count = (outcomes: readonly string[]): Record<string, number> =>
  Object.fromEntries([...new Set(outcomes)].map((one) => [one, outcomes.filter((other) => other === one).length]));
