import type { Pool } from 'pg';
import { failureOf, tracing } from '../telemetry/tracing.js';

type Query = (...args: unknown[]) => unknown;

/**
 * While tracing is on, makes every statement on the pool's connections, including BEGIN and COMMIT, a child span of the active
 * span. A span shows the statement's name, or its verb and table; never its text or parameters.
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
  // A statement outside any span is a poll or a probe.
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

/** Returns a statement's name, or its verb and table; undefined for a cursor or a COPY stream. */
export function summaryOf(statement: unknown): string | undefined {
  if (typeof statement !== 'string') {
    const { name, text } = (statement ?? {}) as { readonly name?: unknown; readonly text?: unknown };
    if (typeof name === 'string') return name;
    return typeof text === 'string' ? summaryOf(text) : undefined;
  }
  const sql = statement.replaceAll(/--[^\n]*/g, ' ').trim();
  const verb = /^\w+/.exec(sql)?.[0].toUpperCase() ?? 'statement';
  // Removes subqueries: one among the columns would come before the statement's own FROM.
  const outer = verb === 'SELECT' ? sql.replaceAll(/\([^()]*\)/g, ' ') : sql;
  const table = tableIn(outer) ?? tableIn(sql);
  return table === undefined ? verb : `${verb} ${table}`;
}

const tableIn = (sql: string): string | undefined => /\b(?:FROM|INTO|UPDATE|TABLE)\s+"?([a-z_]+)/i.exec(sql)?.[1];
