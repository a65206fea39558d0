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

const settings = { sessionTtlHours: 24, idleHours: { customer: 720, staff: 12 } };
let published = 0;
const newSweeper = (): Sweeper => new Sweeper(database, { publish: () => (published += 1) }, settings, logger);

it('ends and logs sessions that staff did not use, since services may remember them', async () => {
  await database.query(
    `INSERT INTO users (user_id, id, username, password_hash, role)
     SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, n, 'user-' || n, 'none', CASE n WHEN 2 THEN 'customer' ELSE 'staff' END FROM generate_series(2, 4) n`,
  );
  await database.query(
    `INSERT INTO sessions (id, user_id, token_hash, created_at, last_used_at, expires_at)
     SELECT user_id, user_id, sha256(username::bytea), now() - interval '20 hours', CASE id WHEN 4 THEN now() ELSE now() - interval '13 hours' END, now() + interval '4 hours' FROM users`,
  );
  const sweeper = newSweeper();
  let counted = 0;
  sweeper.onIdleSession = () => (counted += 1);
  await sweeper.sweep();
  expect(await database.query('SELECT right(id::text, 1) AS n FROM sessions ORDER BY 1')).toEqual([{ n: '2' }, { n: '4' }]);
  expect(await database.query('SELECT kind, right(id, 1) AS n FROM revocations')).toEqual([{ kind: 'session', n: '3' }]);
  expect([published, counted]).toEqual([1, 1]);
  await sweeper.sweep();
  expect([published, counted]).toEqual([1, 1]);
  await database.query('DELETE FROM users');
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
  await expect(newSweeper().sweep()).rejects.toThrow('1 of 10 sweeps failed');
  expect(await database.query('SELECT 1 FROM login_failures')).toEqual([]);
});
