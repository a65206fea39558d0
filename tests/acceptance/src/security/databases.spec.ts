import { beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { databases, run } from '../internals.js';
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

/** The SQLSTATE with which a statement fails; `undefined` if it succeeds. */
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
  const otherDatabase = database === 'store' ? 'identity' : 'store';

  it(isOwner ? 'may create tables in its database' : 'cannot create tables in its database', async () => {
    expect(await refusalOf(url(), 'CREATE TABLE tried (x int); DROP TABLE tried')).toBe(isOwner ? undefined : insufficientPrivilege);
  });

  it.each([...databases.filter((one) => one !== database), 'postgres', 'template1'])('cannot connect to %s', async (other) => {
    expect(await refusalOf(at(url(), other), 'SELECT 1')).toBe(insufficientPrivilege);
  });

  it.each([
    ['create a database', 'CREATE DATABASE tried'],
    ['create a role', 'CREATE ROLE tried LOGIN'],
    ['make itself a superuser', `ALTER ROLE ${role} SUPERUSER`],
    ['change the password of another role', `ALTER ROLE ${otherDatabase}_service PASSWORD 'x'`],
    ['become the administrator', 'SET ROLE postgres'],
    ...others.map((other) => [`become ${other}`, `SET ROLE ${other}`]),
    ['read passwords', 'SELECT rolpassword FROM pg_authid'],
    ['read files on the server', "SELECT pg_read_file('/etc/passwd')"],
    ['write files on the server', "COPY (SELECT 1) TO '/tmp/tried'"],
    ['run programs', "COPY (SELECT 1) TO PROGRAM 'true'"],
    ['read large objects from files', "SELECT lo_import('/etc/passwd')"],
    ['change settings of another database', `ALTER DATABASE postgres SET work_mem = '1MB'`],
    ['load code into the server', "CREATE FUNCTION tried() RETURNS int AS 'libc', 'getpid' LANGUAGE c"],
    ['use an untrusted language', 'CREATE EXTENSION plpython3u'],
    ['disable triggers', 'SET session_replication_role = replica'],
  ])('cannot %s', async (_, statement) => {
    // 0A000 and 58P01: the feature is not installed here, which is as safe.
    expect([insufficientPrivilege, '0A000', '58P01']).toContain(await refusalOf(url(), statement));
  });

  it('cannot log in with another password', async () => {
    const login = new URL(url());
    for (const password of ['wrong', new URL(run().postgres.urls[otherDatabase]).password, new URL(run().postgres.ownerUrls[otherDatabase]).password]) {
      login.password = password;
      expect(await refusalOf(login.href, 'SELECT 1')).toBe('28P01');
    }
  });
});

describe.each(['catalog', 'store', 'identity'] as const)('the audit log in the database of %s', (database) => {
  beforeAll(async () => {
    const plant = await createPlant();
    await ok(send('PUT', `/v3/store/inventory/${plant.id}`, { as: staff, json: { free: 1 } }));
    await ok(send('PUT', `/v3/user/${(await newCustomer()).username}`, { as: staff, json: { phone: '1' } }));
  });

  const asService = (statement: string) => refusalOf(run().postgres.urls[database], statement);

  it('can be read and appended to by the service', async () => {
    expect(await asService('SELECT * FROM audit_log')).toBeUndefined();
    // Rolled back: a fake entry would stay for 400 days.
    expect(await asService(`BEGIN; INSERT INTO audit_log (operation, request_id, credentials, target) VALUES ('x', 'x', '{}', 'x'); ROLLBACK`)).toBeUndefined();
  });

  it.each([
    ['change entries', `UPDATE audit_log SET target = 'x'`],
    ['run an update that matches no entry', `UPDATE audit_log SET target = 'x' WHERE false`],
    ['delete entries', 'DELETE FROM audit_log'],
    ['delete old entries', `DELETE FROM audit_log WHERE at < now() - interval '400 days'`],
    ['truncate the table', 'TRUNCATE audit_log'],
    ['drop the table', 'DROP TABLE audit_log'],
    ['drop a trigger', 'DROP TRIGGER entries_stay ON audit_log'],
    ['disable the triggers', 'ALTER TABLE audit_log DISABLE TRIGGER ALL'],
    ['replace the trigger function', `CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE sql AS 'SELECT NULL'`],
    ['add a rule', 'CREATE RULE nothing AS ON INSERT TO audit_log DO INSTEAD NOTHING'],
    ['add a trigger', 'CREATE TRIGGER nothing BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change()'],
    ['take ownership of the table', `ALTER TABLE audit_log OWNER TO ${database}_service`],
    ['hide the table behind a temporary one', 'CREATE TEMPORARY TABLE audit_log (x int)'],
  ])('the service cannot %s', async (_, statement) => {
    expect(await asService(statement)).toBe(insufficientPrivilege);
  });

  it("cannot be changed by the table's owner either", async () => {
    const asOwner = (statement: string) => refusalOf(run().postgres.ownerUrls[database], statement);
    expect(await asOwner(`UPDATE audit_log SET target = 'x'`)).toBe(insufficientPrivilege);
    expect(await asOwner('DELETE FROM audit_log')).toBe(insufficientPrivilege);
    expect(await asOwner('TRUNCATE audit_log')).toBe(insufficientPrivilege);
  });
});
