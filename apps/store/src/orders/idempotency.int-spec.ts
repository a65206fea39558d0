import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type NewOrder, type Order, store } from '@plant-shop/contracts/store';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { TestCaller } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';

describe('an order with an Idempotency-Key', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2 });
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  async function place(
    key: string,
    order: NewOrder,
    { n = 1, caller = shop.caller } = {},
  ): Promise<{ order: Order; replayed: boolean; version?: number | undefined }> {
    const context = new RpcContext('test', Deadline.in(10_000), customer(n));
    const answer = await caller.client.callRaw(store.placeOrder, { order }, context, key);
    const { replayed = false, version } = answer;
    return { order: JSON.parse(Buffer.from(answer.payload).toString()) as Order, replayed, version };
  }
  const freeOf = async (plantId: number) => (await shop.caller.call(store.getStock, { plantId }, staff)).free;

  it('is placed once, and every repetition gets the first answer', async () => {
    const plantId = await shop.plant(10);
    const first = await place('once', { plantId, quantity: 2 });
    expect(first).toMatchObject({ replayed: false, version: 1 });
    await shop.caller.call(store.cancelOrder, { orderId: first.order.id }, customer(1));
    expect(await place('once', { plantId, quantity: 2 })).toEqual({ ...first, replayed: true });
    expect(await freeOf(plantId)).toBe(10);
  });

  it('duplicates in one batch are one order', async () => {
    const plantId = await shop.plant(100);
    const keys = Array.from({ length: 20 }, (_, n) => `twins-${n}`);
    const answers = await Promise.all(
      keys.flatMap((key) => Array.from({ length: 10 }, async () => ({ key, ...(await place(key, { plantId })) }))),
    );
    for (const key of keys) {
      const ofKey = answers.filter((one) => one.key === key);
      expect(new Set(ofKey.map((one) => one.order.id)).size).toBe(1);
      expect(ofKey.filter((one) => !one.replayed)).toHaveLength(1);
    }
    expect(await freeOf(plantId)).toBe(80);
  });

  it('duplicates that reach two replicas concurrently, from two gateways, are one order (slow)', async () => {
    const plantId = await shop.plant(100);
    const gateways = [shop.caller, await TestCaller.connect(shop.nats.url)];
    try {
      const keys = Array.from({ length: 20 }, (_, n) => `far-twins-${n}`);
      const sent: Promise<{ key: string; id: number; replayed: boolean }>[] = [];
      // All duplicates are sent before the first order is placed, in 20 batches, each of which goes to either replica.
      await shop.holding('SELECT 1 FROM stock WHERE plant_id = $1', [plantId], async (waiting) => {
        for (let batch = 0; batch < 20; batch++) {
          const caller = gateways[batch % 2]!;
          sent.push(...keys.map(async (key) => {
            const { order, replayed } = await place(key, { plantId }, { caller });
            return { key, id: order.id, replayed };
          }));
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        // One batch on each replica waits.
        await waiting(2);
      });
      const answers = await Promise.all(sent);
      for (const key of keys) {
        const twins = answers.filter((one) => one.key === key);
        expect(new Set(twins.map((one) => one.id)).size).toBe(1);
        expect(twins.filter((one) => !one.replayed)).toHaveLength(1);
      }
      expect(await freeOf(plantId)).toBe(80);
    } finally {
      await gateways[1]?.close();
    }
  });

  it('is remembered for 24 hours, and no longer', async () => {
    const plantId = await shop.plant(10);
    const { order } = await place('a day', { plantId });
    const pass = (time: string) => shop.rows(`UPDATE idempotency_keys SET expires_at = expires_at - $1::interval`, [time]);
    await pass('23 hours 59 minutes');
    expect(await place('a day', { plantId })).toMatchObject({ order, replayed: true });
    await pass('1 minute');
    const later = await place('a day', { plantId });
    expect(later.replayed).toBe(false);
    expect(later.order.id).not.toBe(order.id);
    // The new answer has replaced the expired one, which may not be swept yet.
    expect(await place('a day', { plantId })).toEqual({ ...later, replayed: true });
  });

  it('is swept once its day is over, and not before', async () => {
    const plantId = await shop.plant(10);
    for (const key of ['swept', 'kept']) await place(key, { plantId });
    const live = () => shop.rows<{ hash: Buffer }>('SELECT hash FROM idempotency_keys WHERE expires_at > now() ORDER BY hash');
    const [expired, ...kept] = await live();
    await shop.rows(`UPDATE idempotency_keys SET expires_at = now() - interval '1 second' WHERE hash = $1`, [expired!.hash]);
    // A replica sweeps when it starts, and then each minute.
    await shop.addReplica();
    await until(async () => (await shop.rows('SELECT 1 FROM idempotency_keys WHERE hash = $1', [expired!.hash])).length === 0);
    expect(await live()).toEqual(kept);
  });

  it('is independent of other principals, and refused for another request', async () => {
    const plantId = await shop.plant(10);
    const mine = await place('shared', { plantId });
    const theirs = await place('shared', { plantId }, { n: 2 });
    expect(theirs).toMatchObject({ replayed: false });
    expect(theirs.order.id).not.toBe(mine.order.id);
    await expect(outcomeOf(place('shared', { plantId, quantity: 2 }))).resolves.toBe('idempotency-key-reused');
    const context = new RpcContext('test', Deadline.in(5_000), customer(1));
    const transfer = { orderId: mine.order.id, transfer: { username: 'user-3' } };
    await expect(outcomeOf(shop.caller.client.callRaw(store.transferOrder, transfer, context, 'shared'))).resolves.toBe(
      'idempotency-key-reused',
    );
  });

  it('is evaluated again after a refusal', async () => {
    const plantId = await shop.plant(1);
    await expect(outcomeOf(place('again', { plantId, quantity: 2 }))).resolves.toBe('insufficient-stock');
    await shop.caller.call(store.setStock, { plantId, stock: { free: 2 } }, staff);
    expect(await place('again', { plantId, quantity: 2 })).toMatchObject({ replayed: false });
  });

  it('gets its answer to a transfer after the new owner was renamed or deleted', async () => {
    const { order } = await place('to transfer', { plantId: await shop.plant(1) });
    const transfer = { orderId: order.id, transfer: { username: 'user-4' } };
    const send = async (key: string) => {
      const context = new RpcContext('test', Deadline.in(5_000), staff);
      const { payload, version, replayed = false } = await shop.caller.client.callRaw(store.transferOrder, transfer, context, key);
      return { order: JSON.parse(Buffer.from(payload).toString()) as Order, version, replayed };
    };
    const first = await send('transfer');
    expect(first).toMatchObject({ version: 2, replayed: false });
    shop.forgottenUsernames.add('user-4');
    try {
      expect(await send('transfer')).toEqual({ ...first, replayed: true });
      await expect(outcomeOf(send('another transfer'))).resolves.toBe('user-not-found');
    } finally {
      shop.forgottenUsernames.delete('user-4');
    }
  });

  it('stores nothing from which key, request or answer could be read', async () => {
    const plantId = await shop.plant(1);
    await place('a-very-secret-key', { plantId, shipDate: '2031-01-02T03:04:05Z' });
    const rows = await shop.rows<{ row: string }>(`SELECT row_to_json(k)::text AS row FROM idempotency_keys k`);
    const all = rows.map(({ row }) => row + Buffer.from(row.replaceAll(/[^0-9a-f]/g, ''), 'hex').toString('latin1')).join();
    expect(all).not.toMatch(/secret|2031-01-02|plantId/);
  });
});
