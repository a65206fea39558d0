import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { store, type TimelineEntry } from '@plant-shop/contracts/store';
import { Deadline, type Principal, RpcContext } from '@plant-shop/platform/rpc/context';
import { customer, outcomeOf, staff, StoreFixture } from '../store.spec.fixture.js';

describe('notes on an order', () => {
  let shop: StoreFixture;
  let orderId: number;
  beforeAll(async () => {
    shop = await StoreFixture.start({ replicas: 2 });
    orderId = (await shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant() } }, customer(1))).id;
  });
  afterAll(async () => {
    expect(await shop.violations()).toEqual([]);
    await shop.stop();
  });

  const note = (text: string, id = orderId): Promise<TimelineEntry> => shop.caller.call(store.addOrderNote, { orderId: id, note: { text } }, staff);
  const timeline = async (who: Principal, limit = 1_000): Promise<TimelineEntry[]> => (await shop.caller.pages(store.getTimeline, { orderId, limit }, who)).flat();
  const textsOf = (entries: readonly TimelineEntry[]): string[] => entries.map((one) => one.note ?? one.reason);

  it('are between the steps of the timeline for staff, whatever the size of pages, and not for the owner', async () => {
    const before = await shop.caller.call(store.getOrder, { orderId }, customer(1));
    expect(await note('Call first')).toEqual({ at: expect.any(String), newStatus: 'placed', actor: 'staff', reason: 'note', note: 'Call first' });
    await note('Twice');
    await shop.caller.call(store.reportPayment, { orderId, payment: { outcome: 'succeeded', reference: 'p' } }, staff);
    await note('Paid');
    const expected = ['placed', 'Call first', 'Twice', 'payment succeeded', 'Paid'];
    for (const limit of [1, 2, 3, 1_000]) expect(textsOf(await timeline(staff, limit))).toEqual(expected);
    expect(textsOf(await timeline(customer(1), 1))).toEqual(['placed', 'payment succeeded']);
    const { updatedAt, ...order } = await shop.caller.call(store.getOrder, { orderId }, customer(1));
    await note('Unseen');
    expect(await shop.caller.call(store.getOrder, { orderId }, customer(1))).toEqual({ ...order, updatedAt });
    expect(updatedAt >= before.updatedAt).toBe(true);
  });

  it('are audited, without their text, and added once for an Idempotency-Key', async () => {
    const { id } = await shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant() } }, customer(2));
    const context = () => new RpcContext('test', Deadline.in(5_000), staff);
    for (let n = 0; n < 2; n++) await shop.caller.client.callRaw(store.addOrderNote, { orderId: id, note: { text: 'Once' } }, context(), 'one key');
    expect(await shop.rows('SELECT text FROM order_notes WHERE order_id = $1', [id])).toEqual([{ text: 'Once' }]);
    const entries = await shop.rows(`SELECT subject, target FROM audit_log WHERE operation = 'store.addOrderNote' AND target = $1`, [String(id)]);
    expect(entries).toEqual([{ subject: staff.subject, target: String(id) }]);
  });

  it('name who wrote them, like the steps and their new owners, and only to staff', async () => {
    const { id } = await shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant() } }, customer(3));
    await shop.caller.call(store.transferOrder, { orderId: id, transfer: { username: 'user-4' } }, staff);
    await note('Asked by phone', id);
    const read = (who: Principal) => shop.caller.call(store.getTimeline, { orderId: id }, who);
    const named = (await read(staff)).map(({ reason, actor, username, owner }) => [reason, actor, username, owner]);
    const [[, , clerk] = []] = named.filter(([, actor]) => actor === 'staff');
    expect(clerk).toEqual(expect.any(String));
    expect(named).toEqual([
      ['placed', 'owner', 'user-3', 'user-3'],
      ['transferred', 'staff', clerk, 'user-4'],
      ['note', 'staff', clerk, undefined],
    ]);
    for (const entry of await read(customer(4))) expect(entry).toEqual(expect.not.objectContaining({ username: expect.anything() }));
    expect(JSON.stringify(await read(customer(4)))).not.toContain('user-');
  });

  it('name the application that acted for a person, like the steps, until it is deleted, and only to staff', async () => {
    const by = (who: Principal, clientId: string): Principal => ({ ...who, shown: ['accessToken'], shownIds: [clientId] });
    const { id } = await shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant() } }, by(customer(5), 'storefront'));
    await shop.caller.call(store.reportPayment, { orderId: id, payment: { outcome: 'succeeded', reference: `by application ${id}` } }, by(staff, 'payments'));
    await shop.caller.call(store.shipOrder, { orderId: id, shipment: { carrier: 'Post', trackingNumber: '1' } }, by(staff, 'deleted'));
    await shop.caller.call(store.addOrderNote, { orderId: id, note: { text: 'Scanned' } }, by(staff, 'scanner'));
    await shop.caller.call(store.deliverOrder, { orderId: id }, staff);
    const read = async (who: Principal) => (await shop.caller.call(store.getTimeline, { orderId: id }, who)).map(({ reason, application }) => [reason, application?.name]);
    expect(await read(staff)).toEqual([
      ['placed', 'App storefront'],
      ['payment succeeded', 'App payments'],
      ['shipped', undefined],
      ['note', 'App scanner'],
      ['delivered', undefined],
    ]);
    expect(await read(customer(5))).toEqual([['placed', undefined], ['payment succeeded', undefined], ['shipped', undefined], ['delivered', undefined]]);
  });

  it('are refused without an order or text', async () => {
    expect(await outcomeOf(note('x', 987_654_321))).toBe('order-not-found');
    expect(await outcomeOf(note(''))).toBe('invalid-input');
    expect(await outcomeOf(note('x'.repeat(2_001)))).toBe('invalid-input');
  });

  it('are deleted with the account that the order belonged to', async () => {
    const { id } = await shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant() } }, customer(3));
    await note('Ada is away', id);
    await shop.caller.call(store.cancelOrder, { orderId: id }, customer(3));
    await shop.caller.call(store.closeCustomer, { userId: customer(3).subject, attempt: 1 });
    expect(await shop.rows('SELECT 1 FROM order_notes WHERE order_id = $1', [id])).toEqual([]);
    expect(await outcomeOf(note('Ada has moved', id))).toBe('customer-closed');
    expect(await shop.rows('SELECT 1 FROM order_notes WHERE order_id = $1', [id])).toEqual([]);
  });

  it('outlive no account that is closed at the same time (slow)', async () => {
    for (let n = 5; n < 15; n++) {
      const { id } = await shop.caller.call(store.placeOrder, { order: { plantId: await shop.plant() } }, customer(n));
      await shop.caller.call(store.cancelOrder, { orderId: id }, customer(n));
      const added = [outcomeOf(note('Ada is away', id)), outcomeOf(note('Ada has moved', id))];
      await shop.caller.call(store.closeCustomer, { userId: customer(n).subject, attempt: 1 });
      await Promise.all(added);
      expect(await shop.rows('SELECT 1 FROM order_notes WHERE order_id = $1', [id])).toEqual([]);
    }
  });
});
