import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AuditEntry } from '@plant-shop/contracts/audit';
import { store } from '@plant-shop/contracts/store';
import { contextFor } from '@plant-shop/service-testing/service';
import { customer, staff, StoreFixture } from '../store.spec.fixture.js';

describe('the audit log of the store', () => {
  let shop: StoreFixture;
  beforeAll(async () => {
    shop = await StoreFixture.start();
  });
  afterAll(() => shop.stop());

  const entries = (asked: { operation?: string; subject?: string; from?: string; to?: string; limit?: number; cursor?: string } = {}): Promise<AuditEntry[]> =>
    shop.caller.call(store.readAudit, asked);
  const placed = async (owner = customer(1)) =>
    shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant() } }, owner);
  /** Returns the entries that `work` caused. */
  async function entriesBy(work: () => Promise<unknown>): Promise<Pick<AuditEntry, 'operation' | 'target'>[]> {
    const before = (await entries()).length;
    await work();
    return (await entries()).slice(0, -before || undefined).map(({ operation, target }) => ({ operation, target }));
  }

  it('records who did what, when and in which request', async () => {
    const { id: orderId } = await placed();
    await shop.caller.call(store.addOrderNote, { orderId, note: { text: 'Not to be retained' } }, staff);
    const [entry] = await entries({ operation: 'store.addOrderNote' });
    expect(entry).toEqual({
      id: expect.any(Number),
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      operation: 'store.addOrderNote',
      requestId: 'test',
      subject: staff.subject,
      credentials: [{ kind: 'session' }],
      target: String(orderId),
    });
    expect(Math.abs(Date.parse(entry!.at) - Date.now())).toBeLessThan(60_000);
  });

  it('records the stock before and after a change', async () => {
    const plantId = await shop.plant(5);
    const done = await entriesBy(async () => {
      await shop.caller.call(store.setStock, { plantId, stock: { free: 4_711 } }, staff);
      await shop.caller.call(store.adjustStock, { plantId, adjustment: { by: -11, reason: 'Frost' } }, staff);
      await shop.caller.call(store.setStock, { plantId, stock: { free: 4_700, lowStockAt: 3 } }, staff);
      await shop.caller.call(store.setStock, { plantId, stock: { free: 4_701, lowStockAt: null } }, staff);
    });
    expect(done.reverse()).toEqual([
      { operation: 'store.setStock', target: `${plantId}: 5 to 4711` },
      { operation: 'store.adjustStock', target: `${plantId}: 4711 to 4700` },
      { operation: 'store.setStock', target: `${plantId}: 4700 to 4700, low at default to 3` },
      { operation: 'store.setStock', target: `${plantId}: 4700 to 4701, low at 3 to default` },
    ]);
  });

  it('is read from a time on, and before another', async () => {
    const plantIds = [await shop.plant(), await shop.plant()];
    for (const plantId of plantIds) await shop.caller.call(store.setStock, { plantId, stock: { free: 1 } }, staff);
    const operation = 'store.setStock';
    const [second, first] = await entries({ operation, limit: 2 });
    const targets = async (asked: { from?: string; to?: string }) => (await entries({ operation, ...asked })).map(({ target }) => target.split(':')[0]);
    if (first!.at !== second!.at) expect(await targets({ from: second!.at })).toEqual([String(plantIds[1])]);
    expect(await targets({ from: first!.at })).toEqual(plantIds.map(String).reverse());
    expect(await targets({ to: first!.at })).not.toContain(String(plantIds[0]));
    expect(await targets({ from: new Date(Date.parse(second!.at) + 1).toISOString() })).toEqual([]);
    await expect(entries({ from: 'yesterday' })).rejects.toMatchObject({ code: 'invalid-input' });
  });

  it('records each step that staff take with an order', async () => {
    const { id: orderId } = await placed();
    const target = String(orderId);
    const payment = { outcome: 'succeeded' as const, reference: `payment of ${orderId}` };
    const done = await entriesBy(async () => {
      await shop.caller.call(store.transferOrder, { orderId, transfer: { username: 'user-2' } }, staff);
      await shop.caller.call(store.reportPayment, { orderId, payment }, staff);
      await shop.caller.call(store.shipOrder, { orderId, shipment: { carrier: 'c', trackingNumber: 't' } }, staff);
      await shop.caller.call(store.deliverOrder, { orderId }, staff);
    });
    expect(done.reverse()).toEqual(['transferOrder', 'reportPayment', 'shipOrder', 'deliverOrder'].map((name) => ({ operation: `store.${name}`, target })));
  });

  it("records the cancellation of another user's order, but not of the caller's own", async () => {
    const [own, others] = [await placed(), await placed()];
    expect(await entriesBy(() => shop.caller.call(store.cancelOrder, { orderId: own.id }, customer(1)))).toEqual([]);
    expect(await entriesBy(() => shop.caller.call(store.cancelOrder, { orderId: others.id }, staff))).toEqual([
      { operation: 'store.cancelOrder', target: String(others.id) },
    ]);
  });

  it('omits requests without effect: refused or repeated', async () => {
    const { id: orderId } = await placed();
    const payment = { outcome: 'failed' as const, reference: `payment of ${orderId}` };
    await shop.caller.call(store.reportPayment, { orderId, payment }, staff);
    const report = () => shop.caller.client.callRaw(store.reportPayment, { orderId, payment }, contextFor(staff), 'the same key');
    const done = await entriesBy(async () => {
      await expect(shop.caller.call(store.deliverOrder, { orderId }, staff)).rejects.toMatchObject({ code: 'order-transition-refused' });
      await expect(shop.caller.call(store.setStock, { plantId: 987_654_321, stock: { free: 1 } }, staff)).rejects.toMatchObject({ code: 'plant-not-found' });
      await shop.caller.call(store.reportPayment, { orderId, payment }, staff);
      await report();
      await report();
    });
    expect(done).toEqual([]);
  });

  it('rolls an action back if its entry cannot be written', async () => {
    const plantId = await shop.plant();
    const { id: orderId } = await placed();
    await shop.sql.query('ALTER TABLE audit_log ADD CONSTRAINT no_entry CHECK (false) NOT VALID');
    try {
      await expect(shop.caller.call(store.setStock, { plantId, stock: { free: 4_711 } }, staff)).rejects.toMatchObject({ code: 'internal' });
      const payment = { outcome: 'succeeded' as const, reference: `payment of ${orderId}` };
      await expect(shop.caller.call(store.reportPayment, { orderId, payment }, staff)).rejects.toMatchObject({ code: 'internal' });
    } finally {
      await shop.sql.query('ALTER TABLE audit_log DROP CONSTRAINT no_entry');
    }
    expect(await shop.caller.call(store.getStock, { plantId })).not.toMatchObject({ free: 4_711 });
    expect(await shop.caller.call(store.getOrder, { orderId }, staff)).toMatchObject({ status: 'placed' });
  });

  it('can be paged through by cursor, and filtered', async () => {
    const plantId = await shop.plant();
    for (let free = 0; free < 7; free++) await shop.caller.call(store.setStock, { plantId, stock: { free } }, staff);
    const walked: AuditEntry[] = [];
    for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
      const asked = { limit: 3, ...(cursor !== undefined && { cursor }) };
      const { payload, next } = await shop.caller.client.callRaw(store.readAudit, asked, contextFor(staff));
      walked.push(...(JSON.parse(Buffer.from(payload).toString()) as AuditEntry[]));
      cursor = next;
    }
    expect(walked).toEqual(await entries());
    expect(await entries({ subject: staff.subject })).toEqual(walked);
    expect(await entries({ subject: customer(1).subject })).toEqual([]);
    expect(await entries({ operation: 'store.shipOrder' })).toEqual(walked.filter(({ operation }) => operation === 'store.shipOrder'));
  });

  it.each([
    ['changed', `UPDATE audit_log SET target = 'x'`],
    ['deleted', 'DELETE FROM audit_log'],
    ['truncated', 'TRUNCATE audit_log'],
  ])('cannot be %s, even by its owner', async (_, statement) => {
    const before = await entries();
    expect(before.length).toBeGreaterThan(0);
    await expect(shop.sql.query(statement)).rejects.toThrow('the audit log is append-only');
    expect(await entries()).toEqual(before);
  });

  it('allows entries older than 400 days to be deleted', async () => {
    await shop.sql.query(
      `INSERT INTO audit_log (at, operation, request_id, credentials, target)
       VALUES (now() - interval '401 days', 'store.old', 'r', '{}', '1'), (now() - interval '399 days', 'store.old', 'r', '{}', '2')`,
    );
    await shop.sql.query(`DELETE FROM audit_log WHERE at < now() - interval '400 days'`);
    expect(await entries({ operation: 'store.old' })).toMatchObject([{ target: '2' }]);
    await expect(shop.sql.query(`DELETE FROM audit_log WHERE operation = 'store.old'`)).rejects.toThrow('append-only');
  });

  it('has pages that fit an RPC message, whatever is in its entries (slow)', async () => {
    const long = '€'.repeat(200);
    const others = JSON.stringify(Array.from({ length: 3 }, () => ({ kind: 'apiKey', id: long, subject: staff.subject })));
    await shop.rows(
      `INSERT INTO audit_log (operation, request_id, credentials, other_credentials, target) SELECT 'store.x', $1, '{}', $2, n::text FROM generate_series(1, 1500) AS n`,
      [long, others],
    );
    const pages = await shop.caller.pages(store.readAudit, { operation: 'store.x' });
    expect(pages.length).toBeGreaterThan(2);
    expect(pages.flat().map(({ target }) => Number(target))).toEqual(Array.from({ length: 1_500 }, (_, n) => 1_500 - n));
  });
});
