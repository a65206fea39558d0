import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { echoes, type Shop, startShop } from '../gateway.spec.fixture.js';

describe('a stopping gateway', () => {
  let shop: Shop;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  beforeAll(async () => {
    shop = await startShop(echoes);
    shop.identity.addCredential('key', { kind: 'apiKey' });
  });
  afterAll(async () => {
    agent.destroy();
    await shop.stop();
  });

  async function ask(): Promise<{ status: number | undefined; connection: string | undefined; reused: boolean }> {
    const sent = request(`${shop.gateway.url}/v3/plant/1`, { headers: { api_key: 'key' }, agent }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await once(response.resume(), 'end');
    return { status: response.statusCode, connection: response.headers.connection, reused: sent.reusedSocket };
  }

  it('still serves requests on open connections, with Connection: close (slow)', async () => {
    expect(await ask()).toMatchObject({ status: 200, connection: 'keep-alive' });
    const stopped = shop.service.stop();
    await sleep(1_000);
    expect((await shop.service.readiness.report()).ready).toBe(false);
    expect(await ask()).toEqual({ status: 200, connection: 'close', reused: true });
    await stopped;
    await expect(ask()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
