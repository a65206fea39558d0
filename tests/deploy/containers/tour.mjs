import assert from 'node:assert/strict';
import { freePort } from '../../../tools/start/ports.mjs';
import { sleep } from '../../../tools/start/processes.mjs';
import { Tool } from './tools.mjs';

const PLANT = 7;

/**
 * Runs the README's tour in order.
 * @param {import('./report.mjs').Report} report
 * @param {import('./client.mjs').Client} client
 */
export async function tour(report, client) {
  const url = client.url;
  const orderOf = (/** @type {number} */ quantity, /** @type {Record<string, string>} */ headers = {}) => client.ask('/v3/store/order', { json: { plantId: PLANT, quantity }, headers });

  await report.check('tour: add a plant', async () => {
    const { status, body } = await client.ask('/v3/plant', { json: { id: PLANT, name: 'Monstera', photoUrls: [], status: 'available' } });
    assert.deepEqual([status, body.id, body.status], [200, PLANT, 'available']);
  });

  await report.check('tour: order two, see them in the inventory, and receive the payment', async () => {
    const { body: order } = await orderOf(2);
    assert.equal(order.status, 'placed');
    client.orders.add(order.id);
    assert.deepEqual((await client.ask('/v3/store/inventory')).body, { available: 98, pending: 2, sold: 0 });
    await statusBecomes(client, order.id, 'approved');
    const { body: timeline } = await client.ask(`/v3/store/order/${order.id}/timeline`);
    assert.deepEqual(timeline.map((/** @type {any} */ one) => one.newStatus).slice(0, 2), ['placed', 'approved']);
  });

  await report.check('tour: ordering too many and deleting an ordered plant are refused with 409', async () => {
    const refused = [await orderOf(500), await client.ask(`/v3/plant/${PLANT}`, { method: 'DELETE' })];
    assert.deepEqual(refused.map(({ status, body }) => [status, body.code]), [[409, 'insufficient-stock'], [409, 'plant-has-pending-orders']]);
  });

  await report.check('tour: a repeated Idempotency-Key places one order', async () => {
    const twice = [await orderOf(2, { 'idempotency-key': 'two-for-ada' }), await orderOf(2, { 'idempotency-key': 'two-for-ada' })];
    assert.equal(twice[0]?.status, 200);
    assert.equal(twice[0].body.id, twice[1]?.body.id);
    client.orders.add(twice[0].body.id);
  });

  await report.check('tour: npm run listen prints status changes', async () => {
    const listener = new Tool('listen', ['--url', client.streamUrl]);
    try {
      await listener.until('connected', () => listener.said.some((line) => line.includes('connected')), 15);
      const id = await client.order(PLANT);
      await listener.until(`order ${id}`, () => listener.lines.some((line) => line.includes(`order ${id} `) && line.includes('approved')), 30);
    } finally {
      assert.equal(await listener.end(), 0);
    }
  });

  await report.check('tour: Server-Sent Events and pages deliver the same events', async () => {
    const events = await fetch(`${client.streamUrl}/v1/orders/updates`, { headers: { api_key: 'special-key', accept: 'text/event-stream' }, signal: AbortSignal.timeout(30_000) });
    const id = await client.order(PLANT);
    let text = '';
    for await (const part of events.body ?? []) if ((text += Buffer.from(part).toString()).includes(`"orderId":${id}`)) break;
    assert.ok(text.includes(`"orderId":${id}`), text);
    const { body: page } = await client.ask(`${client.streamUrl}/v1/orders/updates?cursor=earliest&limit=1`);
    assert.deepEqual(page.events.map((/** @type {any} */ one) => one.event), ['order.status_changed']);
  });

  await report.check('tour: npm run receive --register --docker gets a signed webhook on this machine', async () => {
    const receiver = new Tool('receive', ['--register', '--docker', '--url', url, '--port', `${await freePort()}`]);
    try {
      await receiver.until('registered', () => receiver.said.some((line) => line.startsWith('Webhook')), 15);
      const id = await client.order(PLANT);
      await receiver.until(`order ${id}`, () => receiver.lines.some((line) => line.includes(`order ${id} `) && line.endsWith('  verified')), 40);
    } finally {
      assert.equal(await receiver.end(), 0);
    }
  });

  await report.check('tour: login, token, OAuth client, API documents', async () => {
    assert.equal((await client.ask('/v3/user/login?username=admin&password=admin-password')).body.type, 'SUCCESS');
    const authorization = `Basic ${Buffer.from('plant-admin:plant-secret').toString('base64')}`;
    const { body: token } = await client.ask('/oauth/token', { form: 'grant_type=client_credentials', headers: { authorization } });
    assert.ok(token.access_token);
    const planner = { name: 'Garden planner', redirectUris: ['http://localhost:3000/callback'], public: true, grantTypes: ['authorization_code', 'refresh_token'], scopes: ['write:orders'] };
    assert.ok((await client.ask('/v3/oauth/clients', { json: planner })).body.clientId);
    for (const address of ['/docs', '/v3/openapi.json', `${client.streamUrl}/v1/asyncapi.json`]) assert.equal((await client.ask(address)).status, 200, address);
  });

  await report.check('the demo has the settings of npm start: a password of one character is accepted', async () => {
    const { status, body } = await client.ask('/v3/user', { json: { username: 'ada', password: 'a' } });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal((await client.ask('/v3/user/login?username=ada&password=a')).body.type, 'SUCCESS');
  });
}

/** @param {import('./client.mjs').Client} client @param {number} id @param {string} status */
async function statusBecomes(client, id, status) {
  let last = '';
  for (const end = Date.now() + 30_000; last !== status; await sleep(300)) {
    assert.ok(Date.now() < end, `order ${id} is ${last}, not ${status}`);
    last = (await client.ask(`/v3/store/order/${id}`)).body.status;
  }
}
