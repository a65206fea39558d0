import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { allReady, kill, logFolder } from './internals.js';
import { createPlant, newCustomer, ok, placeOrder, problem, send, sendLogin, staff, until } from './shop.js';

/** Keeps a service down during `work`: the launcher restarts it at once, as Kubernetes would, so it is killed repeatedly. */
async function whileDown<T>(service: string, work: () => Promise<T>): Promise<T> {
  kill(service);
  const again = setInterval(() => kill(service), 20);
  try {
    await until(async () => (await send('GET', '/readyz')).status === 503);
    return await work();
  } finally {
    clearInterval(again);
    await allReady(15_000);
  }
}

describe('when a service is down', () => {
  it.each([
    ['store', () => send('GET', '/v3/store/inventory', { as: staff })],
    ['catalog', () => send('GET', '/v3/plant/findByStatus?status=sold')],
  ])('operations of the %s are 503, others work, and all recover automatically', async (name, request) => {
    const { username } = await newCustomer();
    await ok(request());
    const [answer, other] = await whileDown(name, () => Promise.all([request(), send('GET', `/v3/user/${username}`)]));
    await problem(Promise.resolve(answer), 503, 'unavailable');
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(other.status).toBe(200);
    await ok(request());
  });

  it('an order placed before the store was killed exists afterwards', async () => {
    const { id: plantId } = await createPlant({ quantity: 1 });
    const { id } = await placeOrder({ plantId });
    await whileDown('store', async () => undefined);
    expect(await ok(send('GET', `/v3/store/order/${id}`, { as: staff }))).toMatchObject({ id, plantId });
    await problem(send('POST', '/v3/store/order', { as: staff, json: { plantId } }), 409, 'insufficient-stock');
  });
});

describe('the log', () => {
  it('contains no password, token, key or query string', async () => {
    const canary = 'canary-password-31337';
    const username = `canary-${Date.now().toString(36)}`;
    await ok(send('POST', '/v3/user', { json: { username, password: canary } }));
    const { message } = await ok(sendLogin(username, canary));
    await sendLogin(username, `wrong-${canary}`);
    await send('GET', `/v3/nothing?secret=${canary}`);
    await send('GET', '/v3/store/inventory', { as: { bearer: message, apiKey: 'special-key' } });
    const folder = logFolder();
    const log = () => readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
    // When this request is in the log, so are all earlier ones.
    const last = `last-of-${username}`;
    await send('GET', '/v3/nothing', { headers: { 'x-request-id': last } });
    await until(async () => log().includes(last));
    const found = [canary, message, 'special-key', 'plant-secret', 'admin-password', 'secret=', 'password='].filter((secret) =>
      log().includes(secret),
    );
    expect(found).toEqual([]);
  });
});
