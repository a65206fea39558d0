import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Receiver } from '@plant-shop/testing/receiver';
import { TestShop } from '../../../../tools/test/shop.mjs';
import { RawHttp } from '../raw-http.js';
import { canaryRequests, openForms } from '../security/canaries.js';
import { createPlant, type Customer, fresh, login, newCustomer, ok, type Order, send, setting, until } from '../shop.js';
import { Subscription } from '../stream.js';
import { Collector, type Span } from './collector.js';

/** The trace of the client. */
const client = { traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') };
const traceparent = `00-${client.traceId}-${client.spanId}-01`;

describe('a shop whose OTEL_* variables name a collector', () => {
  let folder: string;
  let collector: Collector;
  let receiver: Receiver;
  /** Beside the shop of the other tests, with other variables. */
  let shop: TestShop;
  let customer: Customer;
  let secret: string;
  let order: Order;
  let requestId: string;

  beforeAll(async () => {
    collector = await Collector.start();
    receiver = await Receiver.start();
    folder = mkdtempSync(join(tmpdir(), 'plant-shop-tracing-'));
    // Postgres does not run as root and needs access.
    chmodSync(folder, 0o711);
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '200',
      SIMULATED_APPROVAL_DELAY_MS: '300',
      // The tests need only one event.
      SIMULATED_DELIVERY_DELAY_MS: '3600000',
    };
    shop = await TestShop.start(folder, { env });
    Object.assign(process.env, shop.env);
    const { id: plantId } = await createPlant();
    customer = await newCustomer();
    const webhook = { url: receiver.url, eventTypes: ['order.status_changed'] };
    ({ secret } = await ok(send<{ secret: string }>('POST', '/v3/webhooks', { as: customer, json: webhook })));
    const subscription = await Subscription.open();
    const placed = await send<Order>('POST', '/v3/store/order', { as: customer, json: { plantId }, headers: { traceparent } });
    order = await ok(Promise.resolve(placed));
    requestId = placed.headers.get('x-request-id') ?? '';
    await subscription.of(order.id, 1);
    await receiver.got(1);
    subscription.close();
  }, 180_000);
  afterAll(async () => {
    await shop.end();
    rmSync(folder, { recursive: true });
    await receiver.stop();
    await collector.stop();
  }, 60_000);

  const linkedWith = ({ spanId }: Span, name: string): Promise<Span> =>
    collector.span(`${name}, linked with its cause`, (span) => span.name === name && span.links.includes(spanId));
  const request = (): Promise<Span> => collector.span('the request', ({ parentSpanId }) => parentSpanId === client.spanId);
  const rpcCall = async (): Promise<Span> => {
    const { spanId } = await request();
    return collector.span('the call to the store', (span) => span.parentSpanId === spanId && span.name === 'store.placeOrder');
  };
  const rpcHandling = async (): Promise<Span> => {
    const { spanId } = await rpcCall();
    return collector.span('the handling of the call', (span) => span.parentSpanId === spanId);
  };
  const statementsOf = async (span: Span, ...names: string[]): Promise<void> => {
    await until(async () => names.every((name) => collector.childrenOf(span).some((one) => one.name === name)));
    for (const one of collector.childrenOf(span).filter(({ name }) => names.includes(name))) {
      expect(one).toMatchObject({ traceId: span.traceId, hasFailed: false, attributes: { 'db.system.name': 'postgresql', 'db.query.summary': one.name } });
    }
  };

  it("continues the client's trace through the gateway and NATS to the service", async () => {
    expect(await request()).toMatchObject({
      service: 'gateway',
      traceId: client.traceId,
      name: 'POST /v3/store/order',
      attributes: { 'http.request.method': 'POST', 'http.route': '/v3/store/order', 'http.response.status_code': 200 },
      hasFailed: false,
    });
    const rpc = { 'rpc.service': 'store', 'rpc.method': 'placeOrder', 'rpc.response.status_code': 'ok' };
    expect(await rpcCall()).toMatchObject({ service: 'gateway', traceId: client.traceId, attributes: rpc });
    expect(await rpcHandling()).toMatchObject({ service: 'store', name: 'store.placeOrder', traceId: client.traceId, attributes: rpc });
  });

  it('starts a trace for each request without traceparent, even on a reused connection', () => {
    const requests = collector.spans.filter(({ service, attributes }) => service === 'gateway' && 'http.route' in attributes);
    const own = requests.filter(({ traceId }) => traceId !== client.traceId);
    expect(own.length).toBeGreaterThan(3);
    expect(own.filter(({ parentSpanId }) => parentSpanId !== '')).toEqual([]);
    expect(new Set(own.map(({ traceId }) => traceId)).size).toBe(own.length);
  });

  it('links an order with the batch that places it, which has a span for each SQL statement', async () => {
    const placing = await rpcHandling();
    const batch = await linkedWith(placing, 'place orders');
    expect(batch).toMatchObject({ service: 'store', parentSpanId: '', attributes: { 'messaging.batch.message_count': 1 } });
    expect(batch.traceId).not.toBe(client.traceId);
    expect(placing.links).toEqual([batch.spanId]);
    await statementsOf(batch, 'BEGIN', 'write-placed-orders', 'COMMIT');
  });

  it('links the later steps of an order: approval in the background, numbering, following, push and webhook', async () => {
    const approving = await linkedWith(await rpcHandling(), 'due orders');
    expect(approving).toMatchObject({ service: 'store', parentSpanId: '' });
    await statementsOf(approving, 'lock-due-orders', 'write-status-changes', 'COMMIT');
    const numbering = await linkedWith(approving, 'number feed');
    expect(numbering).toMatchObject({ service: 'store' });
    await statementsOf(numbering, 'feed-set-numbers');
    const following = await linkedWith(approving, 'follow feed');
    expect(following).toMatchObject({ service: 'notifications' });
    await statementsOf(following, 'log-events', 'COMMIT');
    await statementsOf(await linkedWith(approving, 'enqueue deliveries'), 'webhooks-enqueue', 'COMMIT');
    const pushing = await linkedWith(approving, 'push frames');
    expect(pushing).toMatchObject({ service: 'notifications', attributes: { 'plant_shop.frames': 1 } });
    const delivering = await linkedWith(approving, 'deliver webhook');
    expect(delivering).toMatchObject({ service: 'notifications', attributes: { 'messaging.message.id': receiver.received[0]?.id } });
    const posting = await collector.span('the POST', (span) => span.parentSpanId === delivering.spanId && span.name === 'POST');
    expect(posting).toMatchObject({ traceId: delivering.traceId, attributes: { 'http.response.status_code': 204 } });
    await statementsOf(await linkedWith(delivering, 'record webhook outcomes'), 'webhooks-record-outcomes');
  });

  it('sends no trace headers to webhook receivers', () => {
    expect(Object.keys(receiver.received[0]?.headers ?? {}).filter((name) => /^(trace|baggage|b3|x-b3)/.test(name))).toEqual([]);
  });

  it('writes the trace id to the log lines of a request', async () => {
    const { spanId } = await request();
    const lines = (): string[] => shop.logOf('gateway').split('\n').filter((line) => line.includes(requestId));
    await until(async () => lines().length > 0);
    expect(lines().map((line) => JSON.parse(line.slice(line.indexOf('{'))) as object)).toEqual([expect.objectContaining({ msg: 'request', operation: 'placeOrder', requestId, traceId: client.traceId, spanId })]);
  });

  it('exports no spans of background runs without work', () => {
    const runs = collector.spans.filter(({ name, parentSpanId }) => parentSpanId === '' && ['due orders', 'number feed', 'follow feed', 'enqueue deliveries'].includes(name));
    expect(runs.length).toBeGreaterThan(0);
    // Failed runs are exported, such as the first of a service that starts before the store.
    expect(runs.filter(({ links, hasFailed }) => links.length === 0 && !hasFailed)).toEqual([]);
  });

  it('exports no secret, no matter where a request contains it', async () => {
    const http = new RawHttp(setting('GATEWAY_URL'));
    const stream = new RawHttp(setting('STREAM_URL'));
    const { id: plantId } = await createPlant();
    const fixture = { plantId, ...customer, session: await login(customer.username, customer.password), fresh: () => fresh('canary'), ...(await openForms()) };
    const canaries = new Map<string, string>([[secret, "a webhook's secret"], [customer.bearer, 'a session'], [customer.password, 'a password'], ['special-key', 'a key']]);
    for (const { name, request: make, toStream } of canaryRequests) {
      const canary = `canary${randomBytes(12).toString('hex')}`;
      canaries.set(canary, name);
      // The shop answers some of them by closing the connection.
      await (toStream ? stream : http).send(make(canary, fixture), 15_000).catch(() => undefined);
    }
    http.close();
    stream.close();
    const last = { traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') };
    await send('GET', '/v3/store/inventory', { as: customer, headers: { traceparent: `00-${last.traceId}-${last.spanId}-01` } });
    await collector.span('the last request', ({ parentSpanId }) => parentSpanId === last.spanId);
    const exported = collector.texts.join('\n');
    expect(exported).toContain('/v3/user/login');
    expect([...canaries].filter(([canary]) => exported.includes(canary)).map(([, name]) => name)).toEqual([]);
  }, 60_000);
});
