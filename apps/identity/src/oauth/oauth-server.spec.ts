import { afterEach, describe, expect, it } from '@jest/globals';
import { unavailable } from '@plant-shop/platform/errors';
import { createLogger } from '@plant-shop/platform/logging';
import { exportJWK, generateKeyPair } from 'jose';
import type { Database } from '@plant-shop/platform/postgres/database';
import type { DatabaseClock } from '../database-clock.js';
import type { Adapters } from './adapters.js';
import type { BrowserSessions } from './browser-sessions.js';
import type { ClientSecrets } from './client-secrets.js';
import { OAuthServer } from './oauth-server.js';
import type { SigningKeysService } from './signing-keys.service.js';

describe('OAuth pages during a failure', () => {
  let server: OAuthServer | undefined;
  let logged: string[];
  afterEach(() => server?.onApplicationShutdown());

  async function answerWhen(failure: Error): Promise<Response> {
    logged = [];
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    // The fakes implement only what a request uses before the failure.
    const failing = { of: () => ({ find: () => Promise.reject(failure) }) } as unknown as Adapters;
    const keys = {
      loadOrCreate: async () => ({ signingKid: 'one', jwks: [{ ...(await exportJWK(privateKey)), kid: 'one', use: 'sig' }] }),
    } as unknown as SigningKeysService;
    const options = { publicUrl: 'http://shop.test', sessionTtlHours: 24, http: { host: '127.0.0.1', port: 0 } };
    server = new OAuthServer(
      failing,
      {} as ClientSecrets,
      keys,
      {} as Database,
      {} as BrowserSessions,
      [],
      { refresh: async () => false } as unknown as DatabaseClock,
      options as never,
      createLogger('test', 'error', { write: (line: string) => void logged.push(line) }),
    );
    await server.onModuleInit();
    return fetch(`http://127.0.0.1:${server.port}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('some:client').toString('base64')}`, 'x-request-id': 'as-at-the-gateway' },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
  }

  it('answer 503 with Retry-After while the database is unavailable', async () => {
    const response = await answerWhen(unavailable('The database'));
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await response.json()).toMatchObject({ error: 'temporarily_unavailable' });
    expect(logged).toEqual([]);
  });

  it('reveal no details of an unexpected error', async () => {
    const response = await answerWhen(new Error('relation "secret_table" does not exist'));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('secret_table');
  });

  it('log the request id of the gateway', async () => {
    await answerWhen(new Error('broken'));
    expect(logged.map((line) => JSON.parse(line) as object)).toMatchObject([{ requestId: 'as-at-the-gateway', err: { message: 'broken' } }]);
  });
});
