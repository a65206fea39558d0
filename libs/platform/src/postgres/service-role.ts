import pg from 'pg';
import type { QueryRunner } from 'typeorm';

// A service runs as a role that changes rows and owns nothing; the role that owns the tables is that of migrations alone. So
// what is append-only stays so whatever the service does (docs/decisions/audit-log.md).

/** What the service's own role may not change: entries are appended, and what was migrated is the owner's to say. */
const restrictedTables: Readonly<Record<string, string>> = { audit_log: 'SELECT, INSERT', migrations: 'SELECT' };

/** Objects of one kind that the present role owns, written as SQL wants them. */
const ownedSql = `
  SELECT c.relname AS name, c.oid::regclass::text AS written, c.relkind = 'S' AS "isSequence" FROM pg_class c
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relowner = current_user::regrole AND c.relkind IN ('r', 'p', 'v', 'S')`;

interface Owned {
  readonly name: string;
  readonly written: string;
  readonly isSequence: boolean;
}

/** The role that a URL connects as, with what the driver makes of a URL that names none. */
export const roleOf = (url: string): string => {
  const { user } = new pg.Client({ connectionString: url });
  if (!user) throw new Error('the database URL of the service names no role');
  return user;
};

/**
 * Before migrations: what they make is the service's to use from its first moment.
 * @returns false for a service that runs as the owner: there is nobody to grant anything to
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

/** After migrations: also what was there before the role was, and no more than it may have. */
export async function grantExisting(runner: QueryRunner, role: string): Promise<void> {
  const to = pg.escapeIdentifier(role);
  for (const { name, written, isSequence } of (await runner.query(ownedSql)) as Owned[]) {
    const privileges = isSequence ? 'USAGE, SELECT' : (restrictedTables[name] ?? 'SELECT, INSERT, UPDATE, DELETE');
    if (name in restrictedTables) await runner.query(`REVOKE ALL ON ${written} FROM ${to}`);
    await runner.query(`GRANT ${privileges} ON ${isSequence ? 'SEQUENCE ' : ''}${written} TO ${to}`);
  }
}
