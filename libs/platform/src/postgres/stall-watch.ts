import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg, { type ClientConfig, type PoolClient, type QueryConfig, type QueryResult, type QueryResultRow } from 'pg';
import type { Logger } from '../logging.js';

/** How often busy connections are looked at. */
const sampleEveryMs = 250;
/** Silence under a statement that is worth a question: healthy statements rarely take longer. */
const silenceLimitMs = 1_000;
/** A value larger than this may be on its way for longer: both kernels hold megabytes that are sent for us, and not there yet. */
const largeBytes = 256 * 1024;
/** The slowest network on which a large statement is not taken for a stall. */
const slowestBytesPerMs = 1_000;
/** Limit of a question, for its connection and for its answer. */
const inquiryLimitMs = 1_500;
/** An answer that the server sent just before it was asked has arrived by then. */
const arrivalMs = 100;
/** Pause after the server said that the silent connections are at work. */
const inquiryPauseMs = 1_000;

// Postgres says itself of a session that it waits for its client. While we wait for the server, nobody will speak again.
const waitingSql = `
  SELECT pid FROM unnest($1::int[]) AS pid LEFT JOIN pg_stat_activity AS session USING (pid)
  WHERE session.pid IS NULL OR session.wait_event_type = 'Client'`;

// A transaction that is half-open holds its row locks until the server notices. The application's name keeps a process
// number that another server gave from meaning a stranger.
const endingSql = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE pid = ANY($1) AND wait_event_type = 'Client' AND usename = current_user AND application_name = current_setting('application_name')`;

/** The driver's own parts of a connection, of which its types say nothing. */
type DriverClient = PoolClient & { readonly connection: { readonly stream: Stream }; readonly processID: number };

/** Node's own count of the bytes of a socket that the kernel has not taken yet: its types do not have it. */
type Stream = Socket & { readonly _handle?: { readonly writeQueueSize?: number } };

/** What a statement fails with whose connection was found stalled. */
class Stalled extends Error {
  /** As TCP's own time-out. */
  readonly code = 'ETIMEDOUT';
  constructor() {
    super('the connection to the database stalled');
  }
}

/** Bytes of pictures and the like. */
const largeBytesOf = (statement: QueryConfig | string): number =>
  (typeof statement === 'string' ? [] : (statement.values ?? [])).reduce<number>(
    (sum, value) => sum + (value instanceof Uint8Array && value.length > largeBytes ? value.length : 0),
    0,
  );

/** A connection of the pool, and what it has to show for being alive. */
export class WatchedConnection {
  /** When it last finished its work or was made (`performance.now()`). */
  lastActiveAt = performance.now();
  /** Since when it has owed us an answer without moving a byte; absent when it is idle or talks. */
  silentSince: number | undefined;
  private pendingQueries = 0;
  /** Of the large values in the statements that it owes answers to. */
  private bytes = 0;
  private moved = 0;
  /** One for all small statements: a function for each would cost them something. */
  private readonly settled = (): void => this.settle(0);

  constructor(private readonly client: PoolClient) {}

  /** The server's number for it. */
  get pid(): number {
    return (this.client as DriverClient).processID;
  }

  query<Row extends QueryResultRow>(statement: QueryConfig | string): Promise<QueryResult<Row>> {
    const bytes = largeBytesOf(statement);
    this.pendingQueries++;
    this.bytes += bytes;
    const settled = bytes === 0 ? this.settled : () => this.settle(bytes);
    const answer = this.client.query<Row>(statement);
    answer.then(settled, settled);
    return answer;
  }

  private settle(bytes: number): void {
    this.pendingQueries--;
    this.bytes -= bytes;
  }

  sample(now: number): void {
    const { stream } = (this.client as DriverClient).connection;
    // `writableLength` counts a large statement as unsent until its last byte has gone.
    const unsent = stream._handle?.writeQueueSize ?? stream.writableLength;
    const moved = stream.bytesRead + stream.bytesWritten - unsent;
    if (this.pendingQueries === 0 || moved !== this.moved) this.silentSince = undefined;
    else this.silentSince ??= now;
    this.moved = moved;
  }

  /** Whether its silence may be a large statement on its way. */
  isSending(now: number): boolean {
    return this.bytes > 0 && now - (this.silentSince ?? now) < silenceLimitMs + this.bytes / slowestBytesPerMs;
  }

  /** Closes it at once: the driver's own end waits for the server. */
  close(reason?: Error): void {
    (this.client as DriverClient).connection.stream.destroy(reason);
  }
}

/**
 * Finds connections that are half-open: a host, a NAT or a proxy on the way forgot them and nothing was closed. TCP tells of it
 * after 15 minutes, and Node cannot shorten that (no TCP_USER_TIMEOUT). Silence alone proves nothing, since a statement may wait
 * for a lock. So after a second of it the server is asked on a new connection what the session does: a session that
 * waits for its client, while the client waits for it, is cut off. It is dropped here and ended there, and what was idle for
 * longer than the stall lasts is replaced before its next use (docs/decisions/half-open-connections.md).
 */
export class StallWatch {
  /** Connections that were dropped. */
  dropped = 0;
  private readonly connections = new Map<PoolClient, WatchedConnection>();
  /** What has proven nothing since then may have stalled with those that were dropped. */
  private suspectBefore = -Infinity;
  private inquiring = false;
  private quietUntil = 0;
  private readonly timer: NodeJS.Timeout;

  constructor(
    pool: pg.Pool,
    /** How to reach the same server on a connection beside the pool. */
    private readonly address: ClientConfig,
    private readonly logger: Logger,
  ) {
    pool.on('connect', (client) => this.connections.set(client, new WatchedConnection(client)));
    pool.on('remove', (client) => this.connections.delete(client));
    this.timer = setInterval(() => this.check(), sampleEveryMs).unref();
  }

  of(client: PoolClient): WatchedConnection {
    const connection = this.connections.get(client);
    if (!connection) throw new Error('a connection of the pool is not watched');
    return connection;
  }

  /** Whether an idle connection may have stalled with others. */
  maySuspect(connection: WatchedConnection): boolean {
    return connection.lastActiveAt < this.suspectBefore;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    const now = performance.now();
    for (const connection of this.connections.values()) connection.sample(now);
    if (this.inquiring || now < this.quietUntil) return;
    const silent = [...this.connections.values()].filter((one) => one.silentSince !== undefined && !one.isSending(now));
    const isOverdue = (one: WatchedConnection): boolean =>
      now - (one.silentSince ?? now) >= silenceLimitMs || this.maySuspect(one);
    // One that is overdue has all that are silent tested.
    if (!silent.some(isOverdue)) return;
    this.inquiring = true;
    void this.inquire(silent).finally(() => (this.inquiring = false));
  }

  /** Leaves things as they are when the server does not answer: then no other connection would be better. */
  private async inquire(silent: readonly WatchedConnection[]): Promise<void> {
    const since = new Map(silent.map((one) => [one, one.silentSince ?? 0]));
    const inquiry = new pg.Client({ ...this.address, connectionTimeoutMillis: inquiryLimitMs, query_timeout: inquiryLimitMs });
    inquiry.on('error', () => undefined);
    try {
      await inquiry.connect();
      const { rows } = await inquiry.query<{ pid: number }>(waitingSql, [silent.map(({ pid }) => pid)]);
      await pause(arrivalMs);
      const now = performance.now();
      const waiting = new Set(rows.map(({ pid }) => pid));
      const stalled = silent.filter((one) => {
        one.sample(now);
        return waiting.has(one.pid) && one.silentSince === since.get(one);
      });
      if (stalled.length === 0) this.quietUntil = now + inquiryPauseMs;
      else await this.end(stalled, inquiry);
    } catch (error) {
      this.logger.warn({ err: error, connections: silent.length }, 'database connections are silent, and it cannot be asked about them');
    } finally {
      // The driver's own end would wait for a server that may not answer.
      (inquiry as unknown as DriverClient).connection.stream.destroy();
    }
  }

  private async end(stalled: readonly WatchedConnection[], inquiry: pg.Client): Promise<void> {
    const pids = stalled.map(({ pid }) => pid);
    const begun = Math.min(...stalled.map(({ silentSince }) => silentSince ?? Infinity));
    this.suspectBefore = begun;
    this.dropped += stalled.length;
    this.logger.warn({ connections: stalled.length, pids, silentMs: Math.round(performance.now() - begun) }, 'database connections stalled and were dropped');
    try {
      await inquiry.query(endingSql, [pids]);
    } finally {
      for (const one of stalled) one.close(new Stalled());
    }
  }
}
