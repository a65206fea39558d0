import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { createDatabase } from '@plant-shop/service-testing/postgres';
import type { TestDatabase } from '@plant-shop/testing/postgres';
import { identityDatabase, migrationsFolder } from './database.js';
import { Sweeper } from './sweeper.js';

let test: TestDatabase;
let database: Database;
const logger = createLogger('test', 'fatal');
const someHash = `decode(repeat('ab', 32), 'hex')`;
beforeAll(async () => {
  test = await createDatabase(migrationsFolder);
  database = await Database.connect(identityDatabase({ databaseUrl: test.url, databaseCa: '', sandbox: false }, 2), logger);
});
afterAll(async () => {
  await database.close();
  await test.disconnect();
});

it('a session that cannot be deleted does not stop the other sweeps', async () => {
  await database.query(
    `INSERT INTO users (user_id, id, username, password_hash) VALUES ('00000000-0000-4000-8000-000000000001', 1, 'ada', 'none')`,
  );
  await database.query(
    `INSERT INTO sessions (id, user_id, token_hash, expires_at)
     SELECT gen_random_uuid(), user_id, ${someHash}, now() - interval '1 hour' FROM users`,
  );
  await database.query('CREATE TABLE referencing (session_id uuid REFERENCES sessions)');
  await database.query('INSERT INTO referencing SELECT id FROM sessions');
  await database.query(`INSERT INTO login_failures VALUES (${someHash}, 3, now() - interval '1 hour')`);
  await expect(new Sweeper(database, logger).sweep()).rejects.toThrow('1 of 9 sweeps failed');
  expect(await database.query('SELECT 1 FROM login_failures')).toEqual([]);
});
