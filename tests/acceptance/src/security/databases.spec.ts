import { beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { databases, run } from '../inside.js';
import { createPlant, newCustomer, ok, send, staff } from '../shop.js';

const all = databases.flatMap((database) => [
  { role: `${database}_service`, database, url: () => run().postgres.urls[database], isOwner: false },
  { role: database, database, url: () => run().postgres.ownerUrls[database], isOwner: true },
]);

const at = (url: string, database: string): string => {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
};

/** The SQLSTATE that a statement fails with; `undefined` when it is carried out. */
async function refusalOf(connectionString: string, statement: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString });
  try {
    await client.connect();
    await client.query(statement);
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  } finally {
    await client.end();
  }
}

const insufficientPrivilege = '42501';

describe.each(all)('the role $role', ({ role, database, url, isOwner }) => {
  const others = all.filter((one) => one.role !== role).map((one) => one.role);
  const stranger = database === 'store' ? 'identity' : 'store';

  it(isOwner ? 'owns its database' : 'makes nothing in its database', async () => {
    expect(await refusalOf(url(), 'CREATE TABLE tried (x int); DROP TABLE tried')).toBe(isOwner ? undefined : insufficientPrivilege);
  });

  it.each([...databases.filter((one) => one !== database), 'postgres', 'template1'])('cannot so much as connect to %s', async (other) => {
    expect(await refusalOf(at(url(), other), 'SELECT 1')).toBe(insufficientPrivilege);
  });

  it.each([
    ['make another database', 'CREATE DATABASE tried'],
    ['make another role', 'CREATE ROLE tried LOGIN'],
    ['make itself more', `ALTER ROLE ${role} SUPERUSER`],
    ['give others a password', `ALTER ROLE ${stranger}_service PASSWORD 'x'`],
    ['become the administrator', 'SET ROLE postgres'],
    ...others.map((other) => [`become ${other}`, `SET ROLE ${other}`]),
    ['read passwords', 'SELECT rolpassword FROM pg_authid'],
    ['read files of the server', "SELECT pg_read_file('/etc/passwd')"],
    ['write files of the server', "COPY (SELECT 1) TO '/tmp/tried'"],
    ['run programs', "COPY (SELECT 1) TO PROGRAM 'true'"],
    ['read large objects from files', "SELECT lo_import('/etc/passwd')"],
    ['change settings for all', `ALTER DATABASE postgres SET work_mem = '1MB'`],
    ['load code into the server', "CREATE FUNCTION tried() RETURNS int AS 'libc', 'getpid' LANGUAGE c"],
    ['use an untrusted language', 'CREATE EXTENSION plpython3u'],
    ['switch triggers off', 'SET session_replication_role = replica'],
  ])('cannot %s', async (_, statement) => {
    // 0A000 and 58P01: not installed here, which is as good.
    expect([insufficientPrivilege, '0A000', '58P01']).toContain(await refusalOf(url(), statement));
  });

  it('is known by its password alone', async () => {
    const login = new URL(url());
    for (const password of ['wrong', new URL(run().postgres.urls[stranger]).password, new URL(run().postgres.ownerUrls[stranger]).password]) {
      login.password = password;
      expect(await refusalOf(login.href, 'SELECT 1')).toBe('28P01');
    }
  });
});

describe.each(['catalog', 'store', 'identity'] as const)('what staff did, in the database of %s', (database) => {
  beforeAll(async () => {
    const plant = await createPlant();
    await ok(send('PUT', `/v3/store/inventory/${plant.id}`, { as: staff, json: { free: 1 } }));
    await ok(send('PUT', `/v3/user/${(await newCustomer()).username}`, { as: staff, json: { phone: '1' } }));
  });

  const asService = (statement: string) => refusalOf(run().postgres.urls[database], statement);

  it('is added to and read by the service', async () => {
    expect(await asService('SELECT * FROM audit_log')).toBeUndefined();
    // Undone at once: an entry that nobody made would stay for 400 days.
    expect(await asService(`BEGIN; INSERT INTO audit_log (operation, request_id, credentials, target) VALUES ('x', 'x', '{}', 'x'); ROLLBACK`)).toBeUndefined();
  });

  it.each([
    ['change', `UPDATE audit_log SET target = 'x'`],
    ['change where there is nothing', `UPDATE audit_log SET target = 'x' WHERE false`],
    ['delete', 'DELETE FROM audit_log'],
    ['delete what is old', `DELETE FROM audit_log WHERE at < now() - interval '400 days'`],
    ['throw it away', 'TRUNCATE audit_log'],
    ['drop the table', 'DROP TABLE audit_log'],
    ['drop a trigger', 'DROP TRIGGER entries_stay ON audit_log'],
    ['switch the triggers off', 'ALTER TABLE audit_log DISABLE TRIGGER ALL'],
    ['make the trigger harmless', `CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE sql AS 'SELECT NULL'`],
    ['add a rule', 'CREATE RULE nothing AS ON INSERT TO audit_log DO INSTEAD NOTHING'],
    ['add a trigger', 'CREATE TRIGGER nothing BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change()'],
    ['own it', `ALTER TABLE audit_log OWNER TO ${database}_service`],
    ['hide it behind another', 'CREATE TEMPORARY TABLE audit_log (x int)'],
  ])('the service cannot %s', async (_, statement) => {
    expect(await asService(statement)).toBe(insufficientPrivilege);
  });

  it('stays whatever its owner does to entries', async () => {
    const asOwner = (statement: string) => refusalOf(run().postgres.ownerUrls[database], statement);
    expect(await asOwner(`UPDATE audit_log SET target = 'x'`)).toBe(insufficientPrivilege);
    expect(await asOwner('DELETE FROM audit_log')).toBe(insufficientPrivilege);
    expect(await asOwner('TRUNCATE audit_log')).toBe(insufficientPrivilege);
  });
});
