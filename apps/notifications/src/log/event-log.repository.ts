import { defaultEventType, isStockEvent, noSubject } from '@plant-shop/contracts/events';
import type { Database } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { type Epoch, type Gap, History, type Position } from './history.js';
import { LogEntry, type LoggedEvent } from './log-entry.js';
import type { Subscription } from './subscription.js';

// Reads of the event log. Each is one statement, so watermark and events come from one snapshot.

/** Events after a number, up to the watermark: below it the log has every event. */
export interface LogTailPage {
  readonly epoch: string | null;
  readonly watermark: number;
  /** Events of (after, upTo], without repetitions. */
  readonly events: readonly LoggedEvent[];
  readonly upTo: number;
  /** Milliseconds since the first of them was logged. */
  readonly ageMs: number;
}

/** Without an event the statement returns one row, which has the watermark only. */
type WithoutEvent = { readonly [K in keyof LoggedEvent]: null };
type Rows<Beside> = (Beside & (LoggedEvent | WithoutEvent))[];

const eventsOf = (rows: Rows<unknown>): LoggedEvent[] => rows.filter((row): row is LoggedEvent => row.seq !== null);

const readTailStatement = {
  name: 'stream-tail',
  text: `
    SELECT w.epoch, w.watermark, l.seq, l.event_id AS id, l.subject, l.body, l.traceparent,
      (extract(epoch FROM clock_timestamp() - l.logged_at) * 1000)::float8 AS "ageMs"
    FROM feed_watermark w LEFT JOIN LATERAL (
      SELECT seq, event_id, subject, body, traceparent, logged_at FROM event_log l
      WHERE seq > $1 AND seq <= w.watermark AND NOT repeats ORDER BY seq LIMIT $2
    ) l ON true ORDER BY l.seq`,
};

export async function readTail(db: Database, after: number, limit: number): Promise<LogTailPage> {
  const rows: Rows<{ epoch: string | null; watermark: number; ageMs: number | null }> = await db.query(readTailStatement, [after, limit]);
  const { epoch = null, watermark = 0, ageMs } = rows[0] ?? {};
  const events = eventsOf(rows).map(({ seq, id, subject, body, traceparent }) => ({
    ...{ seq, id, subject, body },
    ...(typeof traceparent === 'string' && { traceparent }),
  }));
  return { epoch, watermark, events, ageMs: Math.max(0, ageMs ?? 0), upTo: events.length === limit ? (events.at(-1)?.seq ?? watermark) : watermark };
}

/** Returns the number after which the newest `count` numbers begin. */
export async function newestNumbers(db: Database, count: number): Promise<number> {
  const { floor } = onlyRow(
    await db.query<{ floor: number }>(
      'SELECT greatest(k.oldest - 1, w.watermark - $1::bigint) AS floor FROM feed_watermark w, log_kept k',
      [count],
    ),
  );
  return floor;
}

export async function readHistory(db: Database, everyFailover?: boolean): Promise<History> {
  const epochs = await db.query<Epoch & { after: number }>('SELECT epoch, after_seq AS after FROM log_epochs ORDER BY after_seq, epoch');
  const gaps = await db.query<Gap & { after: number }>(
    'SELECT after_seq AS after, resumes_at AS "resumesAt", nothing_lost AS "nothingLost" FROM event_gaps ORDER BY after_seq',
  );
  return new History(epochs, gaps, everyFailover);
}

/** A page of the log, filtered for one client. */
export interface LogPage {
  /** The lowest number that the log still has. */
  readonly oldest: number;
  readonly events: readonly LoggedEvent[];
  /** The page covers the log up to this number. */
  readonly upTo: number;
}

/** Numbers that one statement scans at most, however rare the client's events are. */
const window = 50_000;

/** Returns events of (after, end] that the subscription matches. `end` must not exceed the watermark. */
export async function readPage(
  db: Database,
  { visibility, filter }: Subscription,
  range: { readonly after: number; readonly end: number; readonly limit: number },
): Promise<LogPage> {
  const end = Math.min(range.end, range.after + window);
  const values: unknown[] = [range.after, end, range.limit];
  const conditions = ['seq > $1', 'seq <= $2', 'NOT repeats'];
  const only = (condition: (parameter: string) => string, value: unknown): void => {
    if (value === undefined) return;
    conditions.push(condition(`$${values.push(value)}`));
  };
  const { types, haveStock } = filter.types;
  const seesStock = visibility.stock && haveStock;
  only((p) => `event_type = ANY (${p}::text[])`, seesStock ? types : types.filter((type) => !isStockEvent(type)));
  only((p) => `subject = ${p}`, visibility.all || seesStock ? undefined : visibility.subject);
  only((p) => `subject = ANY (${p}::uuid[])`, seesStock && !visibility.all ? [visibility.subject, noSubject] : undefined);
  only((p) => `order_id = ANY (${p}::bigint[])`, filter.orderIds);
  only((p) => `plant_id = ANY (${p}::bigint[])`, filter.plantIds);
  only((p) => `(new_status = ANY (${p}::text[]) OR event_type <> '${defaultEventType}')`, filter.newStatuses);
  const rows: Rows<{ oldest: number }> = await db.query(
    `SELECT k.oldest, l.* FROM log_kept k LEFT JOIN LATERAL (
       SELECT seq, event_id AS id, subject, body FROM event_log l WHERE ${conditions.join(' AND ')} ORDER BY seq LIMIT $3
     ) l ON true ORDER BY l.seq`,
    values,
  );
  const events = eventsOf(rows);
  return { oldest: rows[0]?.oldest ?? 1, events, upTo: events.length === range.limit ? (events.at(-1)?.seq ?? end) : end };
}

/** Returns the page's events with the gap notices between them, and the client's position after the page. */
export function pageEntries({ oldest, events, upTo }: LogPage, from: Position, history: History): { entries: LogEntry[]; position: Position } {
  const isTooOld = Math.floor(from) + 1 < oldest;
  const begin = isTooOld ? oldest - 1 : from;
  const position = Math.max(begin, upTo);
  const entries = [
    ...(isTooOld ? [LogEntry.gap(begin, history, 'cursor-too-old')] : []),
    ...history.between(begin, position).map((one) => LogEntry.ofBreak(one, history)),
    ...events.map((event) => LogEntry.ofEvent(event, history)),
  ];
  return { entries: entries.sort((a, b) => a.position - b.position), position };
}
