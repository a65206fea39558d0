import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventTypes } from '@plant-shop/contracts/events';
import { until } from '@plant-shop/testing/until';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { makeDocument } from '../../asyncapi/document.js';
import { encodeCursor } from '../../log/history.js';
import { type Replica, Shop, userId } from '../stream.spec.fixture.js';

describe('frames of the stream', () => {
  let shop: Shop;
  let replica: Replica;
  let document: Record<string, unknown>;
  beforeAll(async () => {
    shop = await Shop.open();
    replica = await shop.start({ STREAM_PUBLIC_URL: 'wss://events.shop.test' });
    const served = await replica.ask('/v1/asyncapi.json');
    expect(served).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } });
    document = JSON.parse(served.body) as Record<string, unknown>;
  });
  afterAll(() => shop.close());

  /** Validates a frame by a schema of the document, without additional members. Returns the errors, or null. */
  function errorsOf(schema: string, frame: string | undefined): unknown {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    formats.default(ajv);
    const schemas = (document as { components: { schemas: Record<string, object> } }).components.schemas;
    const strict = Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, { ...one, additionalProperties: false }]));
    ajv.addSchema({ $id: 'document', components: { schemas: strict } });
    ajv.validate({ $ref: `document#/components/schemas/${schema}` }, JSON.parse(frame ?? 'null'));
    return ajv.errors;
  }

  it('match the served document: plain, resumable, and gap notices (slow)', async () => {
    expect(document).toEqual(JSON.parse(JSON.stringify(makeDocument('wss://events.shop.test'))));
    const plain = await replica.opened('api_key=key');
    const resumable = await replica.opened('api_key=key&cursor=latest');
    const unknown = await replica.opened(`api_key=key&cursor=${encodeCursor({ epoch: userId(99), seq: 7 })}`);
    shop.move();
    await Promise.all([plain.has(1), resumable.has(1), unknown.has(2)]);
    expect(errorsOf('OrderStatusChanged', plain.frames[0])).toBeNull();
    expect(errorsOf('ResumableOrderStatusChanged', resumable.frames[0])).toBeNull();
    expect(errorsOf('StreamGap', unknown.frames[0])).toBeNull();
    // The schemas do not accept just any frame.
    expect(errorsOf('OrderStatusChanged', resumable.frames[0])).not.toBeNull();
    expect(errorsOf('StreamGap', plain.frames[0])).not.toBeNull();
  });

  it('match the served document for every event type (slow)', async () => {
    const types = eventTypes.join();
    shop.identity.addCredential('keeper', { permissions: ['write:orders', 'read:stock'] });
    const [plain, resumable] = [await replica.opened(`api_key=keeper&types=${types}`), await replica.opened(`api_key=keeper&types=${types}&cursor=latest`)];
    shop.move([{}, { type: 'order.placed' }, { type: 'order.shipped' }, { type: 'refund.due' }, { type: 'stock.low' }, { type: 'stock.out' }, { type: 'stock.back' }]);
    await Promise.all([plain.has(7), resumable.has(7)]);
    const names = ['OrderStatusChanged', 'OrderPlaced', 'OrderShipped', 'RefundDue', 'StockLow', 'StockOut', 'StockBack'];
    for (const [n, name] of names.entries()) {
      expect([name, errorsOf(name, plain.frames[n]), errorsOf(`Resumable${name}`, resumable.frames[n])]).toEqual([name, null, null]);
      for (const other of names) if (other !== name) expect(errorsOf(other, plain.frames[n])).not.toBeNull();
    }
  });

  it('match the served document on pages, with and without a gap notice', async () => {
    shop.move([{}, { type: 'order.placed' }]);
    await shop.isLogged();
    const read = async (query: string): Promise<string> => (await replica.ask(`/v1/orders/updates?api_key=key&types=order.status_changed,order.placed&${query}`)).body;
    let all = '{}';
    // The replica follows the log.
    await until(async () => ((JSON.parse((all = await read('cursor=earliest&limit=1000'))) as { events?: object[] }).events ?? []).length >= 2);
    const gap = await read(`cursor=${encodeCursor({ epoch: userId(99), seq: 7 })}`);
    expect([errorsOf('OrderEventPage', all), errorsOf('OrderEventPage', gap)]).toEqual([null, null]);
    expect(errorsOf('OrderEventPage', '{"events":[{}],"cursor":"x"}')).not.toBeNull();
  });

  it('are described with the limits of the parameters of pages', async () => {
    const { operations } = document as { operations: { answerPage: { bindings: { http: { query: { properties: Record<string, { minimum: number; maximum: number }> } } } } } };
    for (const name of ['limit', 'wait']) {
      const { minimum, maximum } = operations.answerPage.bindings.http.query.properties[name]!;
      const statusOf = async (value: number): Promise<number | undefined> => (await replica.ask(`/v1/orders/updates?api_key=key&cursor=earliest&${name}=${value}`)).status;
      expect([name, await statusOf(minimum - 1), await statusOf(minimum), await statusOf(maximum), await statusOf(maximum + 1)]).toEqual([name, 400, 200, 200, 400]);
    }
  });

  it('are described at one path, by GET only', async () => {
    const { status } = await replica.ask('/v1/asyncapi.json', {}, 'POST');
    expect(status).toBe(405);
    await expect(replica.ask('/v1/asyncapi.json', { connection: 'Upgrade', upgrade: 'websocket' })).resolves.toMatchObject({ status: 404 });
  });
});
