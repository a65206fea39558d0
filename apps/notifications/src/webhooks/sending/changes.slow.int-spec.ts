import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { notifications, type CreatedWebhook } from '@plant-shop/contracts/notifications';
import { permissionsOfRole } from '@plant-shop/contracts/permissions';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { type Received, Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { Webhook } from 'standardwebhooks';
import { type Change, customer, staff, TestWebhooks, userNo } from '../webhooks.spec.fixture.js';

const allTypes = ['order.placed', 'order.status_changed'] as const;
/** Each replica has two attempts in progress at an endpoint that hangs from its first event on. */
const inProgress = 4;

// With the limits and leases of production.
describe('attempts in progress, on every replica', () => {
  let shop: TestWebhooks;
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await Receiver.start();
    receiver.answer = () => undefined;
    shop = await TestWebhooks.start({ replicas: 2 });
  });
  afterEach(async () => {
    await shop.stop();
    await receiver.stop();
  });

  const orders = (count: number, given: Partial<Change> = {}): Change[] =>
    Array.from({ length: count }, (_, n) => ({ orderId: n + 1, ...given }));
  /** Creates a webhook, and has both replicas send to it. */
  const hang = async (principal: Principal, changes: readonly Change[] = orders(12)): Promise<CreatedWebhook> => {
    const webhook = await shop.create(receiver.url, { eventTypes: [...allTypes] }, principal);
    shop.happen(...changes);
    await until(() => receiver.received.length >= inProgress);
    return webhook;
  };
  /** Waits until all attempts are cut, well before their limit, and some time longer. Returns what arrived since the change. */
  const cut = async (): Promise<readonly Received[]> => {
    const before = receiver.received.length;
    const begun = performance.now();
    await until(() => receiver.openConnections === 0);
    expect(performance.now() - begun).toBeLessThan(5_000);
    await pause(1_000);
    return receiver.received.slice(before);
  };
  const states = async () =>
    (await shop.sql.query<{ state: string; lease: null; attempts: { status: number }[] }>('SELECT state, lease, attempts FROM webhook_deliveries ORDER BY id')).rows;
  /** All deliveries arrive, and the attempts that were cut count neither for them nor for the endpoint. */
  const allArrive = async (count: number): Promise<void> => {
    await until(async () => (await states()).filter(({ state }) => state === 'delivered').length === count);
    for (const { attempts } of await states()) expect(attempts.map(({ status }) => status)).toEqual([204]);
    expect((await shop.sql.query('SELECT silent_attempts FROM webhook_queues')).rows).toEqual([{ silent_attempts: 0 }]);
  };
  const answerAll = (): void => receiver.answerWith(204);

  it('are cut when their endpoint is disabled, and repeated when it is enabled', async () => {
    const webhook = await hang(customer(1));
    await shop.replace(webhook, { state: 'disabled' });
    expect(await cut()).toEqual([]);
    for (const row of await states()) expect(row).toMatchObject({ state: 'pending', lease: null, attempts: [] });
    answerAll();
    await shop.replace(webhook, { state: 'enabled' });
    await allArrive(12);
  });

  it('are cut when their endpoint is deleted', async () => {
    const webhook = await hang(customer(1));
    await shop.call(notifications.deleteWebhook, { webhookId: webhook.id }, customer(1));
    expect(await cut()).toEqual([]);
  });

  it('are repeated at the new URL, in order, when the URL changes', async () => {
    const changes = ['approved', 'delivered'].flatMap((newStatus) => orders(6, { newStatus }));
    const webhook = await hang(customer(1), changes);
    const elsewhere = await Receiver.start();
    await shop.replace(webhook, { url: elsewhere.url });
    expect(await cut()).toEqual([]);
    await allArrive(12);
    expect(new Set(elsewhere.ids).size).toBe(12);
    const byOrder = Map.groupBy(elsewhere.received, ({ body }) => /"orderId":\d+/.exec(body)?.[0]);
    for (const received of byOrder.values()) expect(received.map(({ id }) => id)).toEqual(received.map(({ id }) => id).sort());
    await elsewhere.stop();
  });

  it.each([
    ['at once', 0],
    ['after its grace period', 1],
  ])('are repeated with the new signature when their secret ends %s', async (_what, graceSeconds) => {
    const webhook = await hang(customer(1));
    const { secret } = await shop.call(notifications.rotateWebhookSecret, { webhookId: webhook.id, rotation: { graceSeconds } }, customer(1));
    answerAll();
    const before = receiver.received.length;
    await allArrive(12);
    const signedBy = (one: string): number =>
      receiver.received.slice(before).filter(({ body, headers }) => {
        try {
          return Boolean(new Webhook(one).verify(body, headers));
        } catch {
          return false;
        }
      }).length;
    expect(signedBy(secret)).toBeGreaterThanOrEqual(12);
    if (graceSeconds === 0) expect(signedBy(webhook.secret)).toBe(0);
  });

  it.each([
    ['types', { eventTypes: ['order.status_changed'] }, { type: 'order.placed' as const }],
    ['plant', { eventTypes: [...allTypes], plantId: 8 }, { plantId: 7 }],
    ['order', { eventTypes: [...allTypes], orderId: 1_000 }, {}],
    ['status', { eventTypes: [...allTypes], newStatuses: ['delivered'] }, {}],
  ])('are cut when the filters (%s) exclude their events, which fail', async (_what, filter, excluded) => {
    const webhook = await hang(customer(1), orders(6, excluded));
    const wanted = { orderId: 1_000, plantId: 8, newStatus: 'delivered' };
    await shop.replace(webhook, filter);
    expect(await cut()).toEqual([]);
    answerAll();
    shop.happen(wanted);
    await until(async () => (await states()).filter(({ state }) => state !== 'pending').length === 7);
    const error = expect.stringContaining('no longer selects');
    expect((await shop.deliveries(webhook)).map(({ state, attempts }) => [state, attempts])).toEqual([
      ['delivered', [expect.objectContaining({ status: 204 })]],
      ...Array<unknown>(6).fill(['failed', [{ at: expect.any(String), durationMs: 0, error }]]),
    ]);
  });

  it('continue when nothing changes that they were made with', async () => {
    const webhook = await hang(customer(1));
    await shop.replace(webhook, { description: 'New', plantId: 7 });
    await shop.call(notifications.rotateWebhookSecret, { webhookId: webhook.id, rotation: { graceSeconds: 3_600 } }, customer(1));
    shop.revoke('userChanged', userNo(1));
    await pause(2_000);
    expect(receiver.openConnections).toBe(inProgress);
    expect(receiver.received).toHaveLength(inProgress);
  });

  it('are cut when their owner may no longer see the order; those of own orders continue', async () => {
    const own = { orderId: 99, owner: 9 };
    await hang(staff(9), [own, ...orders(12)]);
    shop.users.set(userNo(9), permissionsOfRole.customer);
    shop.revoke('userChanged', userNo(9));
    await until(() => receiver.openConnections === 1);
    const before = receiver.received.length;
    answerAll();
    shop.happen({ ...own, newStatus: 'delivered' }, { orderId: 1, newStatus: 'delivered' });
    await pause(2_000);
    expect(receiver.received.slice(before).filter(({ body }) => !body.includes('"orderId":99,'))).toEqual([]);
  });

  it('are cut when their owner is deleted', async () => {
    await hang(staff(9));
    shop.users.set(userNo(9), undefined);
    shop.revoke('user', userNo(9));
    expect(await cut()).toEqual([]);
  });

  it('end before another worker sends the event, and the former URL no longer counts against the endpoint', async () => {
    const webhook = await hang(customer(1));
    const elsewhere = await Receiver.start();
    const queue = 'SELECT silent_attempts, paused_until <= now() AS "isOpen" FROM webhook_queues';
    // As after five silent attempts at the former URL.
    await shop.sql.query(`UPDATE webhook_queues SET silent_attempts = 5, paused_until = now() + interval '5 minutes'`);
    await shop.replace(webhook, { url: elsewhere.url });
    await until(() => elsewhere.received.length === 12);
    await until(async () => (await states()).every(({ state }) => state === 'delivered'));
    expect((await shop.sql.query(queue)).rows).toEqual([{ silent_attempts: 0, isOpen: true }]);
    await elsewhere.stop();
  });

  it('do not disable an endpoint that has another URL by now', async () => {
    const answers: (() => void)[] = [];
    receiver.answer = (_received, response) => void answers.push(() => response.writeHead(410).end());
    const webhook = await hang(customer(1));
    const elsewhere = await Receiver.start();
    await shop.replace(webhook, { url: elsewhere.url });
    for (const answer of answers) answer();
    await until(() => elsewhere.received.length >= 12);
    expect((await shop.call(notifications.getWebhook, { webhookId: webhook.id }, customer(1))).state).toBe('enabled');
    await elsewhere.stop();
  });
});

describe('attempts that have not begun', () => {
  let shop: TestWebhooks;
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await Receiver.start();
    shop = await TestWebhooks.start();
  });
  afterEach(async () => {
    await shop.stop();
    await receiver.stop();
  });

  it('wait until a changed owner is checked, and others do not', async () => {
    const [changed, other] = [await shop.create(`${receiver.url}/changed`, {}, staff(9)), await shop.create(`${receiver.url}/other`, {}, customer(1))];
    await pause(500);
    let open = (): void => undefined;
    shop.usersAreKnown = new Promise((resolve) => {
      open = resolve;
    });
    shop.users.set(userNo(9), permissionsOfRole.customer);
    shop.revoke('userChanged', userNo(9));
    await pause(500);
    shop.happen({ orderId: 1 }, { orderId: 2, owner: 9 });
    await until(async () => (await shop.deliveries(other))[0]?.state === 'delivered');
    await pause(1_000);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook/other']);
    open();
    await until(() => receiver.received.length === 2);
    expect(receiver.received[1]).toMatchObject({ path: '/hook/changed', body: expect.stringContaining('"orderId":2,') });
    expect(await shop.deliveries(changed, staff(9))).toHaveLength(1);
  });

  it('wait until all owners are checked when the revocation log may have lost entries', async () => {
    await shop.create(receiver.url, {}, staff(9));
    await pause(500);
    let open = (): void => undefined;
    shop.usersAreKnown = new Promise((resolve) => {
      open = resolve;
    });
    shop.users.set(userNo(9), permissionsOfRole.customer);
    shop.identityEpoch = 'epoch 2';
    await pause(1_000);
    shop.happen({ orderId: 1 }, { orderId: 2, owner: 9 });
    await pause(2_000);
    expect(receiver.received).toEqual([]);
    open();
    await until(() => receiver.received.length > 0);
    await pause(500);
    expect(receiver.received.map(({ body }) => /"orderId":(\d+)/.exec(body)?.[1])).toEqual(['2']);
  });
});
