import pg from 'pg';
import type { QueryRunner } from 'typeorm';

// A service runs as a role that may change rows but owns no tables. Only migrations run as the owner. So append-only tables stay
// append-only even if the service is compromised (docs/decisions/audit-log.md).

/** Privileges of the service role on tables that it may not change freely. */
const restrictedTables: Readonly<Record<string, string>> = { audit_log: 'SELECT, INSERT', migrations: 'SELECT' };

/** The tables, views and sequences that the current role owns, with their names quoted for SQL. */
const ownedSql = `
  SELECT c.relname AS name, c.oid::regclass::text AS "quotedName", c.relkind = 'S' AS "isSequence" FROM pg_class c
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relowner = current_user::regrole AND c.relkind IN ('r', 'p', 'v', 'S')`;

interface Owned {
  readonly name: string;
  readonly quotedName: string;
  readonly isSequence: boolean;
}

/** Returns the role that a URL connects as, including the driver's default for a URL without a user. */
export const roleOf = (url: string): string => {
  const { user } = new pg.Client({ connectionString: url });
  if (!user) throw new Error('the database URL of the service names no role');
  return user;
};

/**
 * Sets default privileges, before migrations run, so that the service may use new tables at once.
 * @returns false for a service that runs as the owner and needs no privileges
 */
export async function grantDefaults(runner: QueryRunner, role: string): Promise<boolean> {
  const [{ user, schema, database }] = (await runner.query(
    'SELECT current_user AS "user", quote_ident(current_schema()) AS schema, quote_ident(current_database()) AS database',
  )) as [{ user: string; schema: string; database: string }];
  if (user === role) return false;
  const to = pg.escapeIdentifier(role);
  await runner.query(`GRANT CONNECT ON DATABASE ${database} TO ${to}`);
  await runner.query(`GRANT USAGE ON SCHEMA ${schema} TO ${to}`);
  await runner.query(`ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${to}`);
  await runner.query(`ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT USAGE, SELECT ON SEQUENCES TO ${to}`);
  return true;
}

/** Sets the privileges on all existing tables and sequences, after migrations ran: also on those older than the role. */
export async function grantExisting(runner: QueryRunner, role: string): Promise<void> {
  const to = pg.escapeIdentifier(role);
  for (const { name, quotedName, isSequence } of (await runner.query(ownedSql)) as Owned[]) {
    const privileges = isSequence ? 'USAGE, SELECT' : (restrictedTables[name] ?? 'SELECT, INSERT, UPDATE, DELETE');
    if (name in restrictedTables) await runner.query(`REVOKE ALL ON ${quotedName} FROM ${to}`);
    await runner.query(`GRANT ${privileges} ON ${isSequence ? 'SEQUENCE ' : ''}${quotedName} TO ${to}`);
  }
}
