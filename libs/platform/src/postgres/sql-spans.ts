import type { Pool } from 'pg';
import { failureOf, tracing } from '../telemetry/tracing.js';

type Query = (...args: unknown[]) => unknown;

/**
 * While tracing is on, every statement of a connection becomes a span of what it is run for, whoever runs it, BEGIN
 * and COMMIT, too. By name or by what it does to which table, never with its text or its parameters.
 */
export function traceStatements(pool: Pool, url: string): void {
  if (!tracing) return;
  const database = decodeURIComponent(new URL(url).pathname.slice(1));
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as Query;
    Object.assign(client, { query: (...args: unknown[]) => run(query, args, database) });
  });
}

function run(query: Query, args: unknown[], database: string): unknown {
  // Without a span above it, it is a poll or a probe.
  if (!tracing?.active || typeof args.at(-1) === 'function') return query(...args);
  const name = summaryOf(args[0]);
  if (name === undefined) return query(...args);
  const attributes = { 'db.system.name': 'postgresql', 'db.namespace': database, 'db.query.summary': name };
  const span = tracing.begin({ name, kind: 'client', attributes });
  const result = query(...args) as Promise<{ rowCount?: number | null }>;
  result.then(
    ({ rowCount }) => {
      if (typeof rowCount === 'number') span.set({ 'db.response.returned_rows': rowCount });
      span.end();
    },
    (error: unknown) => span.end(failureOf(error)),
  );
  return result;
}

/** A statement's name, or its verb and table; undefined for what is no statement but a cursor or a copy. */
export function summaryOf(statement: unknown): string | undefined {
  if (typeof statement !== 'string') {
    const { name, text } = (statement ?? {}) as { readonly name?: unknown; readonly text?: unknown };
    if (typeof name === 'string') return name;
    return typeof text === 'string' ? summaryOf(text) : undefined;
  }
  const sql = statement.replaceAll(/--[^\n]*/g, ' ').trim();
  const verb = /^\w+/.exec(sql)?.[0].toUpperCase() ?? 'statement';
  // A subquery among the columns names its own table first.
  const outer = verb === 'SELECT' ? sql.replaceAll(/\([^()]*\)/g, ' ') : sql;
  const table = tableIn(outer) ?? tableIn(sql);
  return table === undefined ? verb : `${verb} ${table}`;
}

const tableIn = (sql: string): string | undefined => /\b(?:FROM|INTO|UPDATE|TABLE)\s+"?([a-z_]+)/i.exec(sql)?.[1];
