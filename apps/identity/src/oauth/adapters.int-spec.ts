import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { createDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import { identityDatabase, migrationsFolder } from '../database.js';
import { Adapters } from './adapters.js';
import { Cipher } from '../credentials/cipher.js';
import { deleteExpiredPayloads } from './payloads.repository.js';

describe("the provider's state", () => {
  let test: TestDatabase;
  let database: Database;
  let adapters: Adapters;
  beforeAll(async () => {
    test = await createDatabase(migrationsFolder);
    database = await Database.connect(identityDatabase(test.url, 2), createLogger('test', 'fatal'));
    adapters = new Adapters(database, new Cipher('a secret of the tests, 32 characters or more'));
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  it('is found by id, uid and user code, within its model', async () => {
    const codes = adapters.of('DeviceCode');
    const payload = { jti: 'id-1', uid: 'uid-1', userCode: 'CODE-1', grantId: 'grant-1' };
    await codes.upsert('id-1', payload, 60);
    await expect(codes.find('id-1')).resolves.toEqual(payload);
    await expect(codes.findByUid('uid-1')).resolves.toEqual(payload);
    await expect(codes.findByUserCode('CODE-1')).resolves.toEqual(payload);
    await expect(adapters.of('Session').find('id-1')).resolves.toBeUndefined();
  });

  it('is replaced by an upsert, and tells when it was consumed', async () => {
    const codes = adapters.of('AuthorizationCode');
    await codes.upsert('code', { jti: 'code', scope: 'old' }, 60);
    await codes.upsert('code', { jti: 'code', scope: 'new' }, 60);
    await codes.consume('code');
    await expect(codes.find('code')).resolves.toEqual({ jti: 'code', scope: 'new', consumed: expect.any(Number) });
  });

  it('ends when it expires, is destroyed, or its grant is revoked', async () => {
    const tokens = adapters.of('RefreshToken');
    await tokens.upsert('expired', { jti: 'expired' }, 0);
    await tokens.upsert('destroyed', { jti: 'destroyed' }, 60);
    await tokens.destroy('destroyed');
    await tokens.upsert('revoked', { jti: 'revoked', grantId: 'grant-2' }, 60);
    await adapters.of('AccessToken').upsert('revoked-too', { jti: 'revoked-too', grantId: 'grant-2' }, 60);
    await tokens.revokeByGrantId('grant-2');
    for (const id of ['expired', 'destroyed', 'revoked']) await expect(tokens.find(id)).resolves.toBeUndefined();
    await expect(adapters.of('AccessToken').find('revoked-too')).resolves.toBeUndefined();
    await expect(database.transaction((tx) => deleteExpiredPayloads(tx))).resolves.toBe(1);
  });

  it('holds no id or payload in the clear', async () => {
    await adapters.of('RefreshToken').upsert('a-secret-token', { jti: 'a-secret-token', accountId: 'an-account' }, 60);
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
