import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Receiver } from '@plant-shop/testing/receiver';
import { type SandboxShop, startSandbox } from './sandbox-shop.js';
import { fuzz } from './fuzz/run.js';
import { findCostly } from './fuzz/cost.js';
import { RawHttp } from './raw-http.js';
import { documentedRules, expectedOf, orNoAnswer, outcomeOf, requestOf, rulesOf } from './security/access-checks.js';
import { accessTable, sandboxTable } from './security/access-table.js';
import { allCallers } from './security/callers.js';
import { createPlant, gatewayUrl, login, newCustomer, ok, type Order, placeOrder, problem, send, setting, staff, until } from './shop.js';
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

it('credentials end earlier only where that is asked, and are refused at once', async () => {
  const { username, password, bearer } = await newCustomer();
  const as = { bearer: await login(username, password) };
  const me = () => send('GET', '/v3/user/me', { as });
  const day = 86_400;
  await advance(30 * day);
  expect((await me()).status).toBe(200);
  await ok(send('POST', '/v3/test/clock', { as: staff, json: { advanceSeconds: 30 * day, scope: 'all' } }));
  await problem(me(), 401, 'credential-refused');
  await problem(send('GET', '/v3/user/me', { as: { bearer } }), 401, 'credential-refused');
  expect((await send('GET', '/v3/user/me', { as: { bearer: await login(username, password) } })).status).toBe(200);
  await problem(send('POST', '/v3/test/clock', { as: staff, json: { advanceSeconds: 1, scope: 'some' } }), 400, 'invalid-input');
});

it('a reset deletes orders and frees their units, and plants and users stay', async () => {
  const customer = await newCustomer();
  const { id: plantId } = await createPlant({ quantity: 5 });
  const order = await placeOrder({ plantId, quantity: 5 }, customer);
  const { deletedOrders } = await ok<{ deletedOrders: number }>(send('POST', '/v3/test/reset', { as: staff }));
  expect(deletedOrders).toBeGreaterThan(0);
  await problem(send('GET', `/v3/store/order/${order.id}`, { as: customer }), 404, 'order-not-found');
  expect((await placeOrder({ id: order.id, plantId, quantity: 5 }, customer)).id).toBe(order.id);
});

it('its own operations follow the access table for every kind of credential, and staff\'s use is in the audit log', async () => {
  expect(await documentedRules()).toEqual(rulesOf([...accessTable, ...sandboxTable]));
  const { callers, user } = await allCallers();
  const http = new RawHttp(gatewayUrl());
  for (const line of sandboxTable) {
    for (const caller of callers) {
      const request = requestOf(line, caller, user);
      const outcome = outcomeOf(await http.send(request, 15_000).catch(orNoAnswer), request.method);
      expect({ operation: line.operation, caller: caller.name, outcome }).toEqual({ operation: line.operation, caller: caller.name, outcome: expectedOf(line, caller, user) });
    }
    await line.change!((method, path, json) => ok(send(method, path, { as: staff, ...(json !== undefined && { json }) })));
    const [entry] = await ok<{ operation: string }[]>(send('GET', `/v3/audit?operation=store.${line.operation}&limit=1`, { as: staff }));
    expect(entry).toMatchObject({ operation: `store.${line.operation}`, username: 'admin', target: expect.stringMatching(/./) });
  }
  http.close();
}, 60_000);

it('its own operations answer malformed requests according to the document, and none is costly', async () => {
  const { findings, operations } = await fuzz({ url: gatewayUrl(), seed: 20_260_501, count: 300, only: 'Sandbox' });
  expect({ findings, operations }).toEqual({ findings: [], operations: sandboxTable.length });
  const { excesses, tried } = await findCostly({ url: gatewayUrl(), runFile: setting('RUN_FILE'), only: 'Sandbox' });
  expect(excesses).toEqual([]);
  expect(tried).toBeGreaterThan(sandboxTable.length);
}, 120_000);
