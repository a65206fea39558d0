import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readinessOf } from '@plant-shop/platform/service/readiness.contract';
import type { Service } from '@plant-shop/platform/service/service';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { createDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import { startService, TestCaller } from '@plant-shop/testing/service';
import { migrationsFolder } from './database.js';
import { testSettings } from './notifications.spec.fixture.js';
import { startNotifications } from './start.js';

describe('notifications, before there is a stream', () => {
  let nats: TestNats;
  let database: TestDatabase;
  let service: Service;
  let caller: TestCaller;
  let port: number;
  beforeAll(async () => {
    [nats, database] = await Promise.all([startNats(), createDatabase(migrationsFolder)]);
    service = await startService('notifications', nats.url, async (one) => {
      const config = testSettings(database.url);
      port = (await startNotifications(one, config)).streamPort;
    });
    caller = await TestCaller.connect(nats.url);
  });
  afterAll(async () => {
    await caller.close();
    await service.stop();
    await database.drop();
    await nats.stop();
  });

  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const asked = request({ port, path, headers, method: 'GET' });
    asked.end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    let body = '';
    for await (const piece of response) body += String(piece);
    return { status: response.statusCode, headers: response.headers, body };
  };

  it('is ready when its database and NATS are there', async () => {
    const report = await caller.call(readinessOf('notifications'), {});
    expect(report).toEqual({ ready: true, checks: { start: 'ok', nats: 'ok', database: 'ok' } });
  });

  it('says at the address of the stream that there is none yet, without repeating the key', async () => {
    const { status, headers, body } = await ask('/v1/orders/updates?api_key=secret', { 'x-request-id': 'mine' });
    expect(status).toBe(503);
    expect(headers).toMatchObject({ 'content-type': 'application/problem+json', 'x-request-id': 'mine', 'retry-after': '3600' });
    expect(JSON.parse(body)).toEqual({
      type: 'https://shop.test/problems/unavailable',
      code: 'unavailable',
      title: 'Temporarily unavailable',
      status: 503,
      detail: expect.stringContaining('does not serve the stream'),
      instance: '/v1/orders/updates',
      requestId: 'mine',
    });
  });

  it('says the same to the handshake of a WebSocket', async () => {
    const handshake = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'a2V5' };
    expect(await ask('/v1/orders/updates', handshake)).toMatchObject({ status: 503 });
  });

  it.each(['/', '/v1/orders/updates/', '/v1/orders', '//v1/orders/updates'])('serves nothing at %s', async (path) => {
    const { status, body } = await ask(path);
    expect(status).toBe(404);
    expect(JSON.parse(body)).toMatchObject({ code: 'route-not-found', instance: path });
  });
});
