import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { send, setting, staff, until } from './shop.js';

// Access for the few tests that must kill services, or restore and read databases, which clients cannot do.

interface Run {
  readonly services: Readonly<Record<string, readonly { readonly pid?: number; readonly opsPort: number }[]>>;
  readonly postgres: {
    readonly adminUrl: string;
    /** URLs with the services' own roles. */
    readonly urls: Readonly<Record<Database, string>>;
    /** URLs with the roles that own and migrate the tables. */
    readonly ownerUrls: Readonly<Record<Database, string>>;
  };
  readonly nats: { readonly url: string; readonly users: Readonly<Record<string, string>> };
  /** Page of the launcher's mail server. */
  readonly mailUrl: string;
}

/** The launcher's run file: processes and addresses. */
export const run = (): Run => JSON.parse(readFileSync(setting('RUN_FILE'), 'utf8')) as Run;

/** The folder of the processes' logs. */
export const logFolder = (): string => join(dirname(setting('RUN_FILE')), 'logs');

export const databases = ['catalog', 'store', 'identity', 'notifications'] as const;
export type Database = (typeof databases)[number];

/** Kills a service with SIGKILL; the launcher restarts it. Ignores processes that have ended already. */
export function kill(service: string): void {
  for (const { pid } of run().services[service] ?? []) {
    try {
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Waits until all services are ready and the gateway follows identity's log of revocations again, a moment later. */
export const allReady = (limitMs = 30_000): Promise<void> =>
  until(async () => {
    if ((await send('GET', '/readyz')).status !== 200) return false;
    return (await send('GET', '/v3/store/inventory', { as: staff })).status === 200;
  }, limitMs);

/** Waits for a mail to an address, and returns the link in it. */
export async function linkMailedTo(address: string, subject: RegExp): Promise<string> {
  let link: string | undefined;
  await until(async () => {
    const mails = (await (await fetch(`${run().mailUrl}/mails.json`)).json()) as { to: string[]; subject: string; text: string }[];
    const mail = mails.find((one) => one.to.includes(address) && subject.test(one.subject));
    link = /^https?:\S+$/m.exec(mail?.text ?? '')?.[0];
    return link !== undefined;
  }, 30_000);
  return link ?? '';
}

/** Executes a statement in a service's database as superuser. */
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

/** Runs statements that require a database without connections. */
async function withoutConnections(database: Database, statements: readonly string[]): Promise<void> {
  await rows('postgres', `ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
  try {
    await rows('postgres', `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`);
    for (const statement of statements) await rows('postgres', statement);
  } finally {
    await rows('postgres', `ALTER DATABASE ${database} ALLOW_CONNECTIONS true`);
  }
}

/** Copies a database, like a backup. */
export async function backUp(database: Database): Promise<void> {
  const copy = `${database}_backup`;
  await rows('postgres', `DROP DATABASE IF EXISTS ${copy} WITH (FORCE)`);
  await withoutConnections(database, [`CREATE DATABASE ${copy} TEMPLATE ${database} OWNER ${database}`]);
  await rows('postgres', `REVOKE ALL ON DATABASE ${copy} FROM PUBLIC`);
  // A backup does not contain grants on the database itself; the next migration would restore them.
  await rows('postgres', `GRANT CONNECT ON DATABASE ${copy} TO ${database}_service`);
  await allReady();
}

/** Restores a database from its backup: everything written since `backUp` is lost. */
export async function restore(database: Database): Promise<void> {
  await withoutConnections(database, [
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
