import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { backUp, reconcile, restore, rows } from './internals.js';
import {
  createPlant,
  type Customer,
  newCustomer,
  ok,
  type Order,
  placeOrder,
  type Plant,
  problem,
  send,
  staff,
  until,
} from './shop.js';
import { Subscription } from './stream.js';

/** Places an order that stays open, without the simulated payment: the only open order of its customer. */
async function placeWaiting(plantId: number, as: Customer): Promise<Order> {
  for (;;) {
    const order = await placeOrder({ plantId }, as);
    const stopped = await rows(
      'store',
      `UPDATE orders SET due_at = NULL, due_transition = NULL WHERE id = $1 AND status = 'placed' RETURNING id`,
      [order.id],
    );
    if (stopped.length > 0) return order;
    // Paid before it could be stopped.
    await until(async () => (await ok(send<Order>('GET', `/v3/store/order/${order.id}`, { as: staff }))).status === 'delivered');
  }
}

/** A customer known to the store, without open orders. */
async function formerCustomer(plantId: number): Promise<Customer & { userId: string }> {
  const customer = await newCustomer();
  const { id } = await placeWaiting(plantId, customer);
  await cancel(id);
  const [owner] = await rows<{ userId: string }>('store', 'SELECT owner_id AS "userId" FROM orders WHERE id = $1', [id]);
  return { ...customer, userId: owner!.userId };
}

const cancel = (orderId: number) => ok(send('DELETE', `/v3/store/order/${orderId}`, { as: staff }));
const deletePlant = (plantId: number) => ok(send('DELETE', `/v3/plant/${plantId}`, { as: staff }));
const deleteUser = (customer: Customer) => ok(send('DELETE', `/v3/user/${customer.username}`, { as: customer }));
const list = (plantId: number, status: string) =>
  ok(send('POST', `/v3/plant/${plantId}`, { as: staff, form: { status } }));
const getPlant = (plantId: number) => send<Plant>('GET', `/v3/plant/${plantId}`);
const order = (plantId: number) => send<Order>('POST', '/v3/store/order', { as: staff, json: { plantId } });

describe('reconciliation after a database was restored from a backup', () => {
  beforeAll(async () => expect(await reconcile()).toEqual({ exitCode: 0, findings: [] }));
  afterEach(async () => expect(await reconcile()).toEqual({ exitCode: 0, findings: [] }));

  it('of the store: adds stock of new plants, updates listings, retires deleted plants and users, and reports open orders', async () => {
    const [listed, gone, ordered] = [await createPlant(), await createPlant(), await createPlant()];
    const deleted = await formerCustomer(listed.id);
    const waiting = await placeWaiting(ordered.id, await newCustomer());
    await backUp('store');
    const created = await createPlant({ quantity: 5 });
    await list(listed.id, 'sold');
    await deletePlant(gone.id);
    await cancel(waiting.id);
    await deletePlant(ordered.id);
    await deleteUser(deleted);
    await restore('store');

    const left = { plantId: ordered.id, drift: 'plant-missing', outcome: 'left', openOrders: [waiting.id] };
    const found = await reconcile('--dry-run');
    expect(found.exitCode).toBe(1);
    const { exitCode, findings } = await reconcile();
    expect(exitCode).toBe(1);
    expect(findings).toEqual([
      { plantId: listed.id, drift: 'listing-differs', outcome: 'mended' },
      { plantId: gone.id, drift: 'plant-missing', outcome: 'mended' },
      left,
      { plantId: created.id, drift: 'stock-missing', outcome: 'mended' },
      { userId: deleted.userId, drift: 'user-missing', outcome: 'mended' },
    ]);
    expect(found.findings.map(({ drift }) => drift)).toEqual(findings.map(({ drift }) => drift));
    expect(await reconcile()).toEqual({ exitCode: 1, findings: [left] });
    await cancel(waiting.id);
    expect(await reconcile()).toEqual({ exitCode: 0, findings: [{ plantId: ordered.id, drift: 'plant-missing', outcome: 'mended' }] });

    await problem(order(listed.id), 409, 'plant-not-available');
    await problem(order(gone.id), 404, 'plant-not-found');
    await problem(order(created.id), 409, 'insufficient-stock');
    await ok(send('PUT', `/v3/store/inventory/${created.id}`, { as: staff, json: { free: 5 } }));
    await ok(order(created.id));
  }, 30_000);

  it('of the catalog: repeats deletions, retires stock of lost plants, and reuses no id or version', async () => {
    const [gone, listed] = [await createPlant(), await createPlant()];
    await backUp('catalog');
    await deletePlant(gone.id);
    await list(listed.id, 'sold');
    const [lost, ordered] = [await createPlant(), await createPlant({ quantity: 5 })];
    const customer = await newCustomer();
    const waiting = await placeWaiting(ordered.id, customer);
    await restore('catalog');

    const { exitCode, findings } = await reconcile();
    expect(exitCode).toBe(1);
    expect(findings).toEqual([
      expect.objectContaining({ drift: 'numbers-behind', sequence: 'plant_versions', outcome: 'mended' }),
      expect.objectContaining({ drift: 'numbers-behind', sequence: 'plant_ids', to: ordered.id + 1 }),
      { plantId: gone.id, drift: 'plant-deleted', outcome: 'mended' },
      { plantId: listed.id, drift: 'listing-differs', outcome: 'mended' },
      { plantId: lost.id, drift: 'plant-missing', outcome: 'mended' },
      { plantId: ordered.id, drift: 'plant-missing', outcome: 'left', openOrders: [waiting.id] },
    ]);
    await problem(getPlant(gone.id), 404, 'plant-not-found');
    await ok(order(listed.id));
    await problem(order(lost.id), 404, 'plant-not-found');
    const next = await createPlant({ quantity: 1 });
    expect(next.id).toBeGreaterThan(ordered.id);
    await ok(order(next.id));
    // The remedy for the reported plant: create it again with its id; the open order belongs to it.
    await createPlant({ id: ordered.id, quantity: 3 });
    expect(await ok(send('GET', `/v3/store/inventory/${ordered.id}`, { as: staff }))).toMatchObject({ free: 3, reserved: 1 });
    await cancel(waiting.id);
    expect(await ok(send('GET', `/v3/store/inventory/${ordered.id}`, { as: staff }))).toMatchObject({ free: 4, reserved: 0 });
  }, 30_000);

  it('of identity: repeats deletions, reports open orders of lost users, and revocations take effect', async () => {
    const { id: plantId } = await createPlant();
    const deleted = await formerCustomer(plantId);
    const stays = await newCustomer();
    await backUp('identity');
    await deleteUser(deleted);
    const lost = await newCustomer();
    const waiting = await placeWaiting(plantId, lost);
    await restore('identity');

    const inventory = (as: Customer) => send('GET', '/v3/store/inventory', { as });
    const { exitCode, findings } = await reconcile();
    expect(exitCode).toBe(1);
    const left = { userId: expect.any(String), drift: 'user-missing', outcome: 'left', openOrders: [waiting.id] };
    expect(findings).toHaveLength(2);
    expect(findings).toEqual(
      expect.arrayContaining([
        { userId: deleted.userId, username: deleted.username, drift: 'user-deleted', outcome: 'mended' },
        left,
      ]),
    );
    for (const user of [deleted, lost]) {
      await problem(send('GET', `/v3/user/${user.username}`), 404, 'user-not-found');
      await until(async () => (await inventory(user)).status === 401, 1_000);
    }
    await ok(inventory(stays));
    await ok(send('GET', '/v3/user/logout', { as: stays }));
    await until(async () => (await inventory(stays)).status === 401, 1_000);
    await ok(send('POST', `/v3/store/order/${waiting.id}/transfer`, { as: staff, json: { username: 'admin' } }));
    expect(await reconcile()).toMatchObject({ exitCode: 0, findings: [{ drift: 'user-missing', outcome: 'mended' }] });
    await cancel(waiting.id);
  }, 30_000);

  it('of identity, whose revocation log then grows past the last known position: no lost or revoked credential is accepted', async () => {
    const inventory = (as: Customer) => send('GET', '/v3/store/inventory', { as });
    const newKey = async (of: Customer): Promise<{ apiKey: string }> => {
      const { key } = await ok(send<{ key: string }>('POST', `/v3/user/${of.username}/apiKeys`, { as: of, json: { name: 'listener' } }));
      return { apiKey: key };
    };
    const [revoked, other] = [await newCustomer(), await newCustomer()];
    const unaffected = await Subscription.open({}, await newKey(other));
    await backUp('identity');
    // The restored database has neither the user nor the key, and its log will never revoke them.
    const lost = await newCustomer();
    const ended = await Subscription.open({}, await newKey(lost));
    await ok(inventory(lost));
    await ok(inventory(revoked));
    await ok(send('GET', '/v3/user/logout', { as: revoked }));
    await until(async () => (await inventory(revoked)).status === 401, 1_000);
    const log = (): Promise<{ position: number }[]> => rows('identity', 'SELECT position::int FROM revocation_head');
    const [known] = await log();
    // Makes the restored log longer than the one that its followers know.
    await rows(
      'identity_backup',
      `WITH head AS (UPDATE revocation_head SET position = position + 5 RETURNING position)
       INSERT INTO revocations (position, kind, id) SELECT position - 5 + n, 'session', gen_random_uuid() FROM head, generate_series(1, 5) n`,
    );
    await restore('identity');
    const [grown] = await log();
    expect(grown!.position).toBeGreaterThan(known!.position);

    // The chaos command tests the limit of one second (rule "revoked"); here other tests use the machine too.
    await until(async () => ended.closed?.code === 4001, 10_000);
    expect((await inventory(lost)).status).toBe(401);
    // Identity has the session as valid again; the gateway knows its revocation.
    expect((await inventory(revoked)).status).toBe(401);
    await ok(inventory(other));
    expect(unaffected.closed).toBeUndefined();
    unaffected.close();
  }, 30_000);
});
