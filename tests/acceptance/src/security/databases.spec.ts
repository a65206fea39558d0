import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Database, databases, run } from '../inside.js';

const urlOf = (role: Database, database: string = role): string => {
  const url = new URL(run().postgres.urls[role]);
  url.pathname = `/${database}`;
  return url.href;
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

describe.each(databases)('the role of %s', (role) => {
  it('owns its database', async () => {
    expect(await refusalOf(urlOf(role), 'CREATE TABLE tried (x int); DROP TABLE tried')).toBeUndefined();
  });

  it.each([...databases.filter((one) => one !== role), 'postgres', 'template1'])('cannot so much as connect to %s', async (other) => {
    expect(await refusalOf(urlOf(role, other), 'SELECT 1')).toBe(insufficientPrivilege);
  });

  it.each([
    ['make another database', 'CREATE DATABASE tried'],
    ['make another role', 'CREATE ROLE tried LOGIN'],
    ['make itself more', `ALTER ROLE ${role} SUPERUSER`],
    ['give others a password', `ALTER ROLE ${role === 'store' ? 'identity' : 'store'} PASSWORD 'x'`],
    ['become the administrator', 'SET ROLE postgres'],
    ['become another service', `SET ROLE ${role === 'store' ? 'identity' : 'store'}`],
    ['read passwords', 'SELECT rolpassword FROM pg_authid'],
    ['read files of the server', "SELECT pg_read_file('/etc/passwd')"],
    ['write files of the server', "COPY (SELECT 1) TO '/tmp/tried'"],
    ['run programs', "COPY (SELECT 1) TO PROGRAM 'true'"],
    ['read large objects from files', "SELECT lo_import('/etc/passwd')"],
    ['change settings for all', `ALTER DATABASE postgres SET work_mem = '1MB'`],
    ['load code into the server', "CREATE FUNCTION tried() RETURNS int AS 'libc', 'getpid' LANGUAGE c"],
    ['use an untrusted language', 'CREATE EXTENSION plpython3u'],
  ])('cannot %s', async (_, statement) => {
    // 0A000 and 58P01: not installed here, which is as good.
    expect([insufficientPrivilege, '0A000', '58P01']).toContain(await refusalOf(urlOf(role), statement));
  });

  it('is known by its password alone', async () => {
    const url = new URL(urlOf(role));
    url.password = 'wrong';
    expect(await refusalOf(url.href, 'SELECT 1')).toBe('28P01');
    url.password = new URL(run().postgres.urls[role === 'store' ? 'identity' : 'store']).password;
    expect(await refusalOf(url.href, 'SELECT 1')).toBe('28P01');
  });
});
