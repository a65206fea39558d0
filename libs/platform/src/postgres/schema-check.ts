import { readdir, readFile } from 'node:fs/promises';
import type { QueryResultRow } from 'pg';
import type { Logger } from '../logging.js';
import { isSchemaError, sqlStateOf, undefinedTable } from './sqlstate.js';

/** One numbered file: `<13 digits>-<what>.sql`. */
export interface MigrationFile {
  /** The name in TypeORM's table: `<what><13 digits>`. TypeORM orders migrations by the digits at the end. */
  readonly name: string;
  readonly file: string;
}

/**
 * Lists the `.sql` files of a folder, in the order of their numbers.
 * @throws Error for a file that is not named `<13 digits>-<what>.sql`
 */
export async function listMigrations(folder: URL): Promise<MigrationFile[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return files.map((file) => {
    const parts = /^(\d{13})-([a-z0-9-]+)\.sql$/.exec(file);
    if (!parts) throw new Error(`${file} is not named <13 digits>-<what>.sql`);
    return { name: `${parts[2] ?? ''}${parts[1] ?? ''}`, file };
  });
}

export const migrationNames = async (folder: URL): Promise<string[]> => (await listMigrations(folder)).map(({ name }) => name);

export const readMigration = (folder: URL, { file }: MigrationFile): Promise<string> => readFile(new URL(file, folder), 'utf8');

/** SQL: the mode that the database was created with. */
export const readMode = 'SELECT sandbox FROM database_mode';

/** Returns why a database is not one of the mode in the settings; undefined if it is. */
export function modeFaultOf(isSandbox: boolean, sandbox: boolean): string | undefined {
  if (isSandbox === sandbox) return undefined;
  return sandbox
    ? 'SANDBOX is true, but the database was created without it: a sandbox needs databases of its own'
    : 'SANDBOX is not true, but the database was created for a sandbox: set SANDBOX=true, or use another database';
}

/** @throws Error unless the database was created for a sandbox: before anything that would destroy another shop's data */
export async function assertSandbox(tx: { query(text: string): Promise<{ readonly sandbox?: boolean }[]> }): Promise<void> {
  if ((await tx.query(readMode))[0]?.sandbox !== true) throw new Error('the database was not created for a sandbox');
}

/** Sends one statement and returns its rows. */
type Query = <Row extends QueryResultRow>(text: string) => Promise<Row[]>;

/** The tables' columns and the functions of the schema, and what this role may do with each table. */
const contentsSql = `
  WITH relation AS (SELECT oid, relname FROM pg_class WHERE relnamespace = to_regnamespace(current_schema()) AND relkind IN ('r', 'p', 'v', 'm', 'S'))
  SELECT part FROM (
    SELECT 1 AS kind, relname AS name, attnum::bigint AS n, relname || '.' || attname AS part
    FROM relation JOIN pg_attribute ON attrelid = oid WHERE attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT 2, relname, n, privilege || ' on ' || relname
    FROM relation, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) WITH ORDINALITY AS privileges (privilege, n) WHERE has_table_privilege(oid, privilege)
    UNION ALL
    SELECT 3, proname, 0, proname || '()' FROM pg_proc WHERE pronamespace = to_regnamespace(current_schema())
  ) AS parts ORDER BY kind, name, n`;

/** How many missing parts a reason names. */
const namedParts = 5;

/**
 * Finds why a database that answers cannot be used: it lacks migrations of this build, or parts that it had before. Both happen under
 * a running service when the database is restored, recreated or changed by hand.
 */
export class SchemaCheck {
  /** Why the schema could not be used at the last check. */
  private fault: string | undefined;
  /** What the database had when it was first found to have all migrations. */
  private complete: ReadonlySet<string> | undefined;
  private migrations: readonly string[] | undefined;
  /** Checks under way, by whether a statement failed. */
  private readonly running = new Map<boolean, Promise<string | undefined>>();

  constructor(
    private readonly folder: URL,
    private readonly logger: Logger,
  ) {}

  /**
   * Returns why the schema cannot be used; undefined if it can. Concurrent checks share one.
   * @param suspect whether a statement failed, so that more than the list of migrations is read
   */
  check(query: Query, { suspect = false }: { readonly suspect?: boolean } = {}): Promise<string | undefined> {
    let check = this.running.get(suspect);
    if (!check) {
      check = this.run(query, suspect).finally(() => this.running.delete(suspect));
      this.running.set(suspect, check);
    }
    return check;
  }

  private async run(query: Query, suspect: boolean): Promise<string | undefined> {
    const before = this.fault;
    this.fault = await this.faultOf(query, suspect || before !== undefined || !this.complete);
    if (this.fault !== before) {
      if (this.fault === undefined) this.logger.info('the schema of the database is complete again');
      else this.logger.warn({ reason: this.fault }, 'the schema of the database cannot be used');
    }
    return this.fault;
  }

  private async faultOf(query: Query, isThorough: boolean): Promise<string | undefined> {
    try {
      this.migrations ??= await migrationNames(this.folder);
      const done = await executed(query);
      if (this.migrations.some((name) => !done.has(name))) return 'migrations are pending: run migrate';
      return isThorough ? await this.missing(query, done.size > this.migrations.length) : undefined;
    } catch (error) {
      if (!isSchemaError(error)) throw error;
      return (error as Error).message;
    }
  }

  /** @param isNewer whether a newer build has migrated the database, and may have removed what this one does not need */
  private async missing(query: Query, isNewer: boolean): Promise<string | undefined> {
    const parts = new Set((await query<{ part: string }>(contentsSql)).map(({ part }) => part));
    this.complete ??= parts;
    const missing = isNewer ? [] : [...this.complete].filter((part) => !parts.has(part));
    if (missing.length === 0) return undefined;
    const more = missing.length > namedParts ? ` and ${missing.length - namedParts} more` : '';
    return `missing: ${missing.slice(0, namedParts).join(', ')}${more}`;
  }
}

/** Returns the names of the executed migrations. TypeORM's own check would create the table, and disturb a migration job. */
async function executed(query: Query): Promise<Set<string>> {
  try {
    return new Set((await query<{ name: string }>('SELECT name FROM migrations')).map(({ name }) => name));
  } catch (error) {
    if (sqlStateOf(error) !== undefinedTable) throw error;
    return new Set();
  }
}
