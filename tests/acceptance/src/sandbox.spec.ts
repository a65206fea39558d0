import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Receiver } from '@plant-shop/testing/receiver';
import { type SandboxShop, startSandbox } from './sandbox-shop.js';
import { createPlant, newCustomer, ok, type Order, send, staff, until } from './shop.js';
import { streamUrl } from './stream.js';

let receiver: Receiver;
let shop: SandboxShop;

beforeAll(async () => {
  receiver = await Receiver.start();
  const hour = '3600000';
  shop = await startSandbox({ SIMULATED_APPROVAL_DELAY_MS: hour, SIMULATED_DELIVERY_DELAY_MS: hour, ORDER_TTL_MS: '7200000' });
}, 180_000);
afterAll(async () => {
  await shop.end();
  await receiver.stop();
}, 60_000);

const advance = (advanceSeconds: number) => ok(send('POST', '/v3/test/clock', { as: staff, json: { advanceSeconds } }));

it('its clock and the metadata of orders decide what happens to them', async () => {
  const customer = await newCustomer();
  const { id: plantId } = await createPlant();
  const place = (payment: string) => ok<Order>(send('POST', '/v3/store/order', { as: customer, json: { plantId, metadata: { payment } } }));
  const [paid, late] = [await place('test_approve'), await place('test_late')];
  const read = ({ id }: Order) => ok<Order & { refund?: string }>(send('GET', `/v3/store/order/${id}`, { as: customer }));
  await advance(3_601);
  await until(async () => (await read(paid)).status === 'approved');
  await advance(3_601);
  await until(async () => (await read(paid)).status === 'delivered' && (await read(late)).refund === 'due');
  expect((await send('POST', '/v3/test/clock', { as: customer, json: { advanceSeconds: 1 } })).status).toBe(403);
});

it('names itself in answers of the stream, too, also in errors and preflights', async () => {
  const url = streamUrl().replace(/^ws/, 'http');
  for (const [path, method] of [['/v1/orders/events', 'GET'], ['/v1/nothing', 'GET'], ['/v1/orders/events', 'OPTIONS']] as const) {
    expect((await fetch(url + path, { method, headers: { origin: 'http://127.0.0.1:3000', 'access-control-request-method': 'GET' } })).headers.get('x-shop-mode')).toBe('sandbox');
  }
});

it('a test event reaches a webhook, and so does its next attempt once the clock is moved', async () => {
  receiver.answerWith(500);
  await ok(send('POST', '/v3/webhooks', { as: staff, json: { url: receiver.url, eventTypes: ['order.shipped'] } }));
  await ok(send('POST', '/v3/test/events', { as: staff, json: { type: 'order.shipped', data: { orderId: 7 } } }));
  await receiver.got(1);
  receiver.answerWith(204);
  await advance(600);
  await receiver.got(2, 3_000);
});
