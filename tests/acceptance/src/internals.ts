import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { send, staff, until } from './shop.js';

// For the few tests that do to the shop what no client can: kill its services, set its databases back, look at them.

interface Run {
  readonly services: Readonly<Record<string, readonly { readonly pid?: number; readonly opsPort: number }[]>>;
  readonly postgres: {
    readonly adminUrl: string;
    /** As the roles that the services run as. */
    readonly urls: Readonly<Record<Database, string>>;
    /** As the owners of the tables, who migrate them. */
    readonly ownerUrls: Readonly<Record<Database, string>>;
  };
  readonly nats: { readonly url: string; readonly users: Readonly<Record<string, string>> };
}

/** What runs, and where, as the launcher wrote it down. */
export const run = (): Run => JSON.parse(readFileSync(process.env['RUN_FILE'] ?? '', 'utf8')) as Run;

export const databases = ['catalog', 'store', 'identity', 'notifications'] as const;
export type Database = (typeof databases)[number];

/** Ends a service as a power cut would; the launcher starts it again. */
export function kill(service: string): void {
  for (const { pid } of run().services[service] ?? []) if (pid !== undefined) process.kill(pid, 'SIGKILL');
}

/** Also as far as credentials go: the gateway follows identity's log again a moment after identity is ready. */
export const allReady = (): Promise<void> =>
  until(async () => {
    if ((await send('GET', '/readyz')).status !== 200) return false;
    return (await send('GET', '/v3/store/inventory', { as: staff })).status === 200;
  }, 30_000);

/** Rows of one statement in a service's database. */
export async function rows<Row extends pg.QueryResultRow>(
  database: Database | `${Database}_backup` | 'postgres',
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const url = new URL(run().postgres.adminUrl);
  url.pathname = `/${database}`;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Does something to a database that nobody may be connected to. */
async function alone(database: Database, statements: readonly string[]): Promise<void> {
  await rows('postgres', `ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
  try {
    await rows('postgres', `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`);
    for (const statement of statements) await rows('postgres', statement);
  } finally {
    await rows('postgres', `ALTER DATABASE ${database} ALLOW_CONNECTIONS true`);
  }
}

/** What a backup is: the database as it is now, put aside. */
export async function backUp(database: Database): Promise<void> {
  const copy = `${database}_backup`;
  await rows('postgres', `DROP DATABASE IF EXISTS ${copy} WITH (FORCE)`);
  await alone(database, [`CREATE DATABASE ${copy} TEMPLATE ${database} OWNER ${database}`]);
  await rows('postgres', `REVOKE ALL ON DATABASE ${copy} FROM PUBLIC`);
  // What is granted on a database itself is no part of a backup: the next migration would grant it.
  await rows('postgres', `GRANT CONNECT ON DATABASE ${copy} TO ${database}_service`);
  await allReady();
}

/** All that was written to the database since `backUp` is lost. */
export async function setBack(database: Database): Promise<void> {
  await alone(database, [
    `ALTER DATABASE ${database} RENAME TO ${database}_lost`,
    `ALTER DATABASE ${database}_backup RENAME TO ${database}`,
  ]);
  await rows('postgres', `DROP DATABASE ${database}_lost WITH (FORCE)`);
  await allReady();
}

export interface Reconciliation {
  readonly exitCode: number;
  /** One line of JSON each. */
  readonly findings: readonly Record<string, unknown>[];
}

/** `npm run reconcile -- --json` */
export async function reconcile(...options: string[]): Promise<Reconciliation> {
  const main = fileURLToPath(new URL('../../../tools/reconcile/main.mjs', import.meta.url));
  const tool = spawn(process.execPath, [main, '--json', ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  tool.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exitCode = await new Promise<number>((resolve, reject) => {
    tool.once('error', reject);
    tool.once('close', (code) => resolve(code ?? -1));
  });
  const lines = output.split('\n').filter(Boolean);
  return { exitCode, findings: lines.slice(0, -1).map((line) => JSON.parse(line) as Record<string, unknown>) };
}
