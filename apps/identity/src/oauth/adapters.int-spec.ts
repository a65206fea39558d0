import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { createDatabase } from '@plant-shop/service-testing/postgres';
import type { TestDatabase } from '@plant-shop/testing/postgres';
import { identityDatabase, migrationsFolder } from '../database.js';
import type { Adapter } from 'oidc-provider';
import { readRevocations, type RevocationsService } from '../revocations/revocations.js';
import { Adapters } from './adapters.js';
import { deleteExpiredPayloads } from '../grants/payloads.repository.js';
import { GrantsService } from '../grants/grants.service.js';
import { identityCipher } from '../secrets/secrets.js';
import type { IdentityOptions } from '../options.js';
import { DatabaseClock } from '../database-clock.js';

describe("the provider's state", () => {
  let test: TestDatabase;
  let database: Database;
  let of: (model: string) => Adapter;
  beforeAll(async () => {
    test = await createDatabase(migrationsFolder);
    database = await Database.connect(identityDatabase({ databaseUrl: test.url, databaseCa: '', sandbox: false }, 4), createLogger('test', 'fatal'));
    // This test has no followers to notify.
    const grants = new GrantsService(database, { publish: () => undefined } as unknown as RevocationsService);
    const clock = new DatabaseClock(database, createLogger('test', 'fatal'));
    await clock.refresh();
    const adapters = new Adapters(database, identityCipher(['a test secret of 32 characters or more']), grants, clock, { idleHours: { customer: 720, staff: 12 } } as IdentityOptions);
    of = (model) => adapters.of(model, async () => undefined);
  });
  afterAll(async () => {
    await database.close();
    await test.disconnect();
  });

  it('is found by id and uid, only within its model', async () => {
    const codes = of('Interaction');
    const payload = { jti: 'id-1', uid: 'uid-1', grantId: 'grant-1' };
    await codes.upsert('id-1', payload, 60);
    await expect(codes.find('id-1')).resolves.toEqual(payload);
    await expect(codes.findByUid('uid-1')).resolves.toEqual(payload);
    await expect(of('Session').find('id-1')).resolves.toBeUndefined();
  });

  it('is replaced by an upsert, and carries the time at which it was consumed', async () => {
    const codes = of('AuthorizationCode');
    await codes.upsert('code', { jti: 'code', scope: 'old' }, 60);
    await codes.upsert('code', { jti: 'code', scope: 'new' }, 60);
    await codes.consume('code');
    await expect(codes.find('code')).resolves.toEqual({ jti: 'code', scope: 'new', consumed: expect.any(Number) });
  });

  const revocations = async (): Promise<unknown[]> =>
    (await readRevocations(database, { after: 0 })).entries.map(({ kind, id }) => ({ kind, id }));

  it('ends when it expires, is destroyed, or its grant is revoked, which is logged once', async () => {
    const tokens = of('RefreshToken');
    await tokens.upsert('expired', { jti: 'expired' }, 0);
    await tokens.upsert('destroyed', { jti: 'destroyed' }, 60);
    await tokens.destroy('destroyed');
    await of('Grant').upsert('grant-2', { jti: 'grant-2' }, 60);
    await tokens.upsert('revoked', { jti: 'revoked', grantId: 'grant-2' }, 60);
    await of('AuthorizationCode').upsert('revoked-too', { jti: 'revoked-too', grantId: 'grant-2' }, 60);
    await Promise.all([tokens.revokeByGrantId('grant-2'), of('Grant').destroy('grant-2')]);
    for (const id of ['expired', 'destroyed', 'revoked']) await expect(tokens.find(id)).resolves.toBeUndefined();
    await expect(of('AuthorizationCode').find('revoked-too')).resolves.toBeUndefined();
    await expect(of('Grant').find('grant-2')).resolves.toBeUndefined();
    await expect(revocations()).resolves.toEqual([{ kind: 'grant', id: 'grant-2' }]);
    await expect(database.transaction((tx) => deleteExpiredPayloads(tx))).resolves.toBe(1);
  });

  it('is consumed once, and concurrent attempts to consume it end the grant', async () => {
    const codes = of('AuthorizationCode');
    await codes.upsert('raced', { jti: 'raced', grantId: 'grant-3' }, 60);
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => codes.consume('raced')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of outcomes) {
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ error: 'invalid_grant' });
    }
    await expect(codes.find('raced')).resolves.toBeUndefined();
    await expect(revocations()).resolves.toContainEqual({ kind: 'grant', id: 'grant-3' });
  });

  it('is not stored for a deleted user or client', async () => {
    const payload = { jti: 'late', accountId: '00000000-0000-4000-8000-000000000009', clientId: 'deleted' };
    await expect(of('RefreshToken').upsert('late', payload, 60)).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  it('stores no id or payload in plain text', async () => {
    await of('RefreshToken').upsert('a-secret-token', { jti: 'a-secret-token', scope: 'an-account' }, 60);
    const rows = await database.query<{ row: string }>('SELECT p::text AS row FROM oauth_payloads p');
    const hex = (text: string): string => Buffer.from(text).toString('hex');
    for (const { row } of rows) {
      for (const secret of ['a-secret-token', 'an-account']) {
        expect(row).not.toContain(secret);
        expect(row).not.toContain(hex(secret));
      }
    }
  });
});
