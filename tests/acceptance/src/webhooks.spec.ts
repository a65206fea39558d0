import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { verifyWebhook } from '@plant-shop/client/webhooks';
import type { Credentials } from '@plant-shop/testing/http';
import { type Received, Receiver } from '@plant-shop/testing/receiver';
import { type Answer, createPlant, type Customer, newCustomer, ok, placeOrder, problem, send, staff, until } from './shop.js';

interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly eventTypes: string[];
  readonly state: string;
  readonly disabledReason?: string;
  readonly createdAt: string;
  readonly secret: string;
}
interface Delivery {
  readonly id: number;
  readonly eventId: string;
  readonly orderId?: number;
  readonly state: string;
  readonly attempts: { readonly at: string; readonly status?: number; readonly durationMs: number; readonly error?: string }[];
  readonly nextAttemptAt?: string;
}

const eventTypes = ['order.status_changed'];
const unknown = '00000000-0000-4000-8000-000000000000';

/** Whether the webhook has a valid signature with this secret. */
function isSigned({ headers, body }: Received, secret: string): boolean {
  try {
    verifyWebhook(headers, body, secret);
    return true;
  } catch {
    return false;
  }
}

describe('webhooks', () => {
  let receiver: Receiver;
  let plantId: number;
  let customer: Customer;
  let made: { readonly id: string; readonly as: Credentials }[];
  beforeAll(async () => {
    ({ id: plantId } = await createPlant({ quantity: 100 }));
    customer = await newCustomer();
  });
  beforeEach(async () => {
    receiver = await Receiver.start();
    made = [];
  });
  afterEach(async () => {
    for (const { id, as } of made) await send('DELETE', `/v3/webhooks/${id}`, { as });
    await receiver.stop();
  });

  const create = async (webhook: object = {}, as: Credentials = customer): Promise<Webhook & { path: string }> => {
    const created = await ok(send<Webhook>('POST', '/v3/webhooks', { as, json: { url: receiver.url, eventTypes, ...webhook } }));
    made.push({ id: created.id, as });
    return { ...created, path: `/v3/webhooks/${created.id}` };
  };
  const deliveriesOf = (path: string, query = ''): Promise<Delivery[]> =>
    ok(send<Delivery[]>('GET', `${path}/deliveries${query}`, { as: customer }));
  const nextOf = ({ headers }: Answer<unknown>): string | undefined => /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];

  describe('as resources', () => {
    it('can be created, read, listed, changed and deleted; only the creation returns the secret', async () => {
      const { secret, path, ...created } = await create({ plantId, newStatuses: ['approved'], description: 'mine' });
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32,}=*$/);
      expect(created).toEqual({ id: expect.any(String), url: receiver.url, eventTypes, plantId, newStatuses: ['approved'], description: 'mine', state: 'enabled', createdAt: expect.any(String) });

      const read = await send<Webhook>('GET', path, { as: customer });
      expect(read.body).toEqual(created);
      const etag = read.headers.get('etag') ?? '';
      expect((await send('GET', path, { as: customer, headers: { 'if-none-match': etag } })).status).toBe(304);
      expect(await ok(send<Webhook[]>('GET', '/v3/webhooks', { as: customer }))).toEqual([created]);

      const json = { url: receiver.url, eventTypes, state: 'disabled' };
      const replaced = await send<Webhook>('PUT', path, { as: customer, json, headers: { 'if-match': etag } });
      const { id, createdAt } = created;
      expect(replaced.body).toEqual({ id, ...json, createdAt });
      await problem(send('PUT', path, { as: customer, json, headers: { 'if-match': etag } }), 412, 'precondition-failed');
      await problem(send('DELETE', path, { as: customer, headers: { 'if-match': etag } }), 412, 'precondition-failed');

      const deleted = send('DELETE', path, { as: customer, headers: { 'if-match': replaced.headers.get('etag') ?? '' } });
      expect(await ok(deleted)).toEqual({ code: 200, type: 'SUCCESS', message: created.id });
      await problem(send('GET', path, { as: customer }), 404, 'webhook-not-found');
    });

    it('are listed page by page, newest first', async () => {
      const ids = [await create(), await create(), await create()].map(({ id }) => id).reverse();
      const first = await send<Webhook[]>('GET', '/v3/webhooks?limit=2', { as: customer });
      expect(first.body.map(({ id }) => id)).toEqual(ids.slice(0, 2));
      const next = new URL(nextOf(first) ?? '');
      const second = await send<Webhook[]>('GET', next.pathname + next.search, { as: customer });
      expect(second.body.map(({ id }) => id)).toEqual(ids.slice(2));
      expect(nextOf(second)).toBeUndefined();
    });

    it('are created once per Idempotency-Key', async () => {
      const options = { as: customer, json: { url: receiver.url, eventTypes }, headers: { 'idempotency-key': crypto.randomUUID() } };
      const first = await send<Webhook>('POST', '/v3/webhooks', options);
      made.push({ id: first.body.id, as: customer });
      const again = await send<Webhook>('POST', '/v3/webhooks', options);
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expect(again.body).toEqual(first.body);
      const other = { ...options, json: { url: `${receiver.url}/other`, eventTypes } };
      await problem(send('POST', '/v3/webhooks', other), 422, 'idempotency-key-reused');
    });

    const rows = (path: string): [string, string, unknown?][] => [
      ['GET', path],
      ['PUT', path, { url: receiver.url, eventTypes }],
      ['DELETE', path],
      ['POST', `${path}/rotateSecret`, {}],
      ['POST', `${path}/test`],
      ['GET', `${path}/deliveries`],
      ['POST', `${path}/deliveries/1/resend`],
      ['POST', `${path}/replay`, {}],
    ];

    it('of other users are 404; staff read them, and use none', async () => {
      const { path } = await create();
      const other = await newCustomer();
      for (const [method, at, json] of [...rows(path), ...rows(`/v3/webhooks/${unknown}`)]) {
        await problem(send(method, at, { as: at.startsWith(path) ? other : staff, json }), 404, 'webhook-not-found');
        if (at.startsWith(path) && method !== 'GET') await problem(send(method, at, { as: staff, json }), 403, 'forbidden');
      }
      expect(await ok(send('GET', '/v3/webhooks', { as: other }))).toEqual([]);
      const seen = await ok(send('GET', path, { as: staff }));
      expect(seen).toMatchObject({ owner: customer.username, url: receiver.url });
      expect(await ok(send('GET', `/v3/webhooks?owner=${customer.username}`, { as: staff }))).toContainEqual(seen);
      expect(await ok(send('GET', `${path}/deliveries`, { as: staff }))).toEqual([]);
      for (const owner of ['*', customer.username]) await problem(send('GET', `/v3/webhooks?owner=${owner}`, { as: other }), 403, 'forbidden');
    });

    it('require a credential with the permission `webhooks`', async () => {
      const keys = `/v3/user/${customer.username}/apiKeys`;
      const { key: apiKey } = await ok(send<{ key: string }>('POST', keys, { as: customer, json: { name: 'till', permissions: ['write:orders'] } }));
      for (const [method, path, json] of [['POST', '/v3/webhooks', {}], ['GET', '/v3/webhooks'], ...rows(`/v3/webhooks/${unknown}`)] as const) {
        await problem(send(method, path, { json }), 401, 'unauthorized');
        await problem(send(method, path, { as: { apiKey }, json }), 403, 'forbidden');
      }
    });

    it.each([
      ['no URL', { url: 'nowhere' }, '/url'],
      ['a URL of another scheme', { url: 'ftp://plants.example/' }, '/url'],
      ['a private address', { url: 'https://10.0.0.1/' }, '/url'],
      ['a private address in another spelling', { url: 'https://0xa9fea9fe/' }, '/url'],
      ['no event type', { eventTypes: [] }, '/eventTypes'],
      ['an unknown event type', { eventTypes: ['order.praised'] }, '/eventTypes'],
      ['an invalid order id', { orderId: '7' }, '/orderId'],
    ])('are refused with %s', async (_, webhook, pointer) => {
      const json = { url: receiver.url, eventTypes, ...webhook };
      const { errors } = await problem(send('POST', '/v3/webhooks', { as: customer, json }), 400, 'invalid-input');
      expect(errors?.[0]?.pointer).toBe(pointer);
    });
  });

  describe('as deliveries', () => {
    it('carry the status changes of an order, in sequence and signed, and are listed', async () => {
      const { path, secret } = await create();
      const { id } = await placeOrder({ plantId }, customer);
      const posts = await receiver.got(2);
      expect(posts.map(({ body }) => JSON.parse(body) as unknown)).toEqual(
        [['placed', 'approved'], ['approved', 'delivered']].map(([previousStatus, newStatus]) => ({
          event: 'order.status_changed',
          timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          data: { orderId: id, plantId, previousStatus, newStatus, trackingNumber: expect.stringMatching(/./) },
        })),
      );
      for (const post of posts) {
        expect(post.headers['content-type']).toMatch(/^application\/json/);
        expect(isSigned(post, secret)).toBe(true);
        expect(isSigned({ ...post, body: post.body.replace('placed', 'Placed') }, secret)).toBe(/placed/.exec(post.body) === null);
      }
      await until(async () => (await deliveriesOf(path, '?state=delivered')).length === 2);
      const deliveries = await deliveriesOf(path);
      expect(deliveries.map(({ eventId }) => eventId)).toEqual([posts[1]?.id, posts[0]?.id]);
      expect(deliveries[0]).toEqual({
        id: expect.any(Number),
        eventId: posts[1]?.id,
        orderId: id,
        eventType: 'order.status_changed',
        createdAt: expect.any(String),
        state: 'delivered',
        attempts: [{ at: expect.any(String), status: 204, durationMs: expect.any(Number) }],
      });
      const page = await send<Delivery[]>('GET', `${path}/deliveries?limit=1`, { as: customer });
      const next = new URL(nextOf(page) ?? '');
      expect(next.pathname).toBe(`${path}/deliveries`);
      expect(await ok(send('GET', next.pathname + next.search, { as: customer }))).toEqual([deliveries[1]]);
    });

    it("carry events only of the owner's orders that match the filter (slow)", async () => {
      const other = await newCustomer();
      const { id: otherPlant } = await createPlant({ quantity: 10 });
      await create({ plantId });
      const foreign = await placeOrder({ plantId }, other);
      const filtered = await placeOrder({ plantId: otherPlant }, customer);
      const own = await placeOrder({ plantId }, customer);
      const posts = await receiver.got(2);
      await until(async () => (await ok(send<{ complete: boolean }>('GET', `/v3/store/order/${filtered.id}`, { as: staff }))).complete);
      await until(async () => (await ok(send<{ complete: boolean }>('GET', `/v3/store/order/${foreign.id}`, { as: staff }))).complete);
      expect(posts.map(({ body }) => (JSON.parse(body) as { data: { orderId: number } }).data.orderId)).toEqual([own.id, own.id]);
    });

    it('can be tested without an order', async () => {
      const { path, secret, id } = await create();
      const delivery = await ok(send<Delivery>('POST', `${path}/test`, { as: customer }));
      const [post] = await receiver.got(1);
      expect(post?.id).toBe(delivery.eventId);
      expect(isSigned(post!, secret)).toBe(true);
      expect(JSON.parse(post!.body)).toEqual({ event: 'webhook.test', timestamp: expect.any(String), data: { webhookId: id } });
      await until(async () => (await deliveriesOf(path))[0]?.state === 'delivered');
    });

    it('are signed with both secrets during the grace period of a rotation, without one only with the new secret', async () => {
      const { path, secret } = await create();
      const rotate = (json: object): Promise<{ secret: string; previousUntil: string }> =>
        ok(send<{ secret: string; previousUntil: string }>('POST', `${path}/rotateSecret`, { as: customer, json }));
      const tested = async (count: number) => {
        await ok(send('POST', `${path}/test`, { as: customer }));
        return (await receiver.got(count))[count - 1]!;
      };
      const next = await rotate({ graceSeconds: 600 });
      expect(Date.parse(next.previousUntil)).toBeGreaterThan(Date.now() + 500_000);
      const both = await tested(1);
      expect([isSigned(both, secret), isSigned(both, next.secret)]).toEqual([true, true]);
      const last = await rotate({ graceSeconds: 0 });
      const one = await tested(2);
      expect([isSigned(one, secret), isSigned(one, next.secret), isSigned(one, last.secret)]).toEqual([false, false, true]);
    });

    const failed = async (path: string): Promise<Delivery> => {
      const { id } = await ok(send<Delivery>('POST', `${path}/test`, { as: customer }));
      await until(async () => (await deliveriesOf(path))[0]?.attempts.length === 1);
      const [delivery] = await deliveriesOf(path, '?state=pending');
      expect(delivery).toMatchObject({ id, attempts: [{ error: expect.any(String) }] });
      return delivery!;
    };
    const secondsUntilNext = ({ nextAttemptAt }: Delivery): number => (Date.parse(nextAttemptAt ?? '') - Date.now()) / 1_000;

    it('are retried after a failure, after the time in Retry-After if the receiver sends it', async () => {
      receiver.answerWith(500);
      const soon = secondsUntilNext(await failed((await create()).path));
      expect(soon).toBeGreaterThan(0);
      expect(soon).toBeLessThan(6);
      receiver.answerWith(503, { 'retry-after': '600' });
      expect(secondsUntilNext(await failed((await create()).path))).toBeGreaterThan(590);
    });

    it('show the last attempt’s request and the answer to it', async () => {
      receiver.answer = (_received, response) => response.writeHead(500, { 'content-type': 'text/plain' }).end('out of soil');
      const { path } = await create();
      const delivery = await failed(path);
      const [post] = await receiver.got(1);
      expect(await ok(send('GET', `${path}/deliveries/${delivery.id}`, { as: customer }))).toEqual({
        ...delivery,
        attempts: [
          {
            ...delivery.attempts[0],
            request: { headers: expect.objectContaining({ 'webhook-id': post!.id, 'webhook-signature': post!.headers['webhook-signature'] }) },
            response: { headers: expect.objectContaining({ 'content-type': 'text/plain' }), body: 'out of soil' },
          },
        ],
        request: { headers: expect.objectContaining({ 'webhook-id': post!.id, 'webhook-timestamp': post!.headers['webhook-timestamp'], 'webhook-signature': '[redacted]' }), body: post!.body },
        response: { headers: expect.objectContaining({ 'content-type': 'text/plain' }), body: 'out of soil' },
      });
      await problem(send('GET', `${path}/deliveries/999999999`, { as: customer }), 404, 'delivery-not-found');
    });

    it('can be resent after a failure, with the same id and bytes', async () => {
      receiver.answerWith(500);
      const { path } = await create();
      const { id, eventId } = await failed(path);
      receiver.answerWith(200);
      const again = await ok(send<Delivery>('POST', `${path}/deliveries/${id}/resend`, { as: customer }));
      expect(again).toMatchObject({ eventId, state: 'pending' });
      expect(again.id).not.toBe(id);
      const [first, second] = await receiver.got(2);
      expect([second?.id, second?.body]).toEqual([first?.id, first?.body]);
      await problem(send('POST', `${path}/deliveries/999999999/resend`, { as: customer }), 404, 'delivery-not-found');
    });

    it('stop after 410: the webhook is disabled, and its events are held until it is enabled again (slow)', async () => {
      receiver.answerWith(410);
      const { path } = await create();
      await ok(send('POST', `${path}/test`, { as: customer }));
      const read = (): Promise<Webhook> => ok(send<Webhook>('GET', path, { as: customer }));
      await until(async () => (await read()).state === 'disabled');
      expect(await read()).toMatchObject({ disabledReason: 'gone' });
      await problem(send('POST', `${path}/test`, { as: customer }), 409, 'webhook-disabled');

      const { id } = await placeOrder({ plantId }, customer);
      await until(async () => (await deliveriesOf(path, '?state=held')).filter(({ orderId }) => orderId === id).length === 2);
      expect(receiver.received).toHaveLength(1);
      receiver.answerWith(204);
      await ok(send('PUT', path, { as: customer, json: { url: receiver.url, eventTypes, state: 'enabled' } }));
      await until(async () => receiver.received.filter(({ body }) => body.includes(`"orderId":${id},`)).length === 2);
      expect(await read()).not.toHaveProperty('disabledReason');
    });

    it('of the past can be replayed, with the same ids and bytes (slow)', async () => {
      const since = new Date(Date.now() - 1_000).toISOString();
      const { path } = await create({ plantId });
      const { id } = await placeOrder({ plantId }, customer);
      const first = [...(await receiver.got(2))];
      expect(first.every(({ body }) => body.includes(`"orderId":${id},`))).toBe(true);
      await until(async () => (await deliveriesOf(path, '?state=delivered')).length === 2);
      const none = await ok(send('POST', `${path}/replay`, { as: customer, json: { since, onlyFailed: true } }));
      expect(none).toEqual({ scheduled: 0 });
      const all = await ok(send<{ scheduled: number }>('POST', `${path}/replay`, { as: customer, json: { since } }));
      expect(all.scheduled).toBeGreaterThanOrEqual(2);
      const posts = await receiver.got(2 + all.scheduled);
      const again = posts.slice(2).filter(({ body }) => body.includes(`"orderId":${id},`));
      expect(again.map((post) => [post.id, post.body])).toEqual(first.map((post) => [post.id, post.body]));
      await problem(send('POST', `${path}/replay`, { as: customer, json: { fromCursor: 'garbage' } }), 400, 'invalid-cursor');
    });
  });
});
