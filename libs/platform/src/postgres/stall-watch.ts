import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg, { type ClientConfig, type PoolClient, type QueryConfig, type QueryResult, type QueryResultRow } from 'pg';
import type { Logger } from '../logging.js';

/** How often busy connections are sampled. */
const sampleEveryMs = 250;
/** Silence during a statement after which the server is queried. Healthy statements rarely take longer. */
const silenceLimitMs = 1_000;
/** A larger value may be in transit for longer: both kernels buffer megabytes that count as sent but have not arrived. */
const largeBytes = 256 * 1024;
/** The slowest network on which a large statement does not count as stalled. */
const slowestBytesPerMs = 1_000;
/** Time limit of the inquiry's connection, and of its query. */
const inquiryLimitMs = 1_500;
/** Time within which an answer arrives that the server sent just before the inquiry. */
const arrivalMs = 100;
/** Pause after an inquiry that found the silent connections busy. */
const inquiryPauseMs = 1_000;

// A session waits for its client according to Postgres, while we wait for the server: neither side will send anything again.
const waitingSql = `
  SELECT pid FROM unnest($1::int[]) AS pid LEFT JOIN pg_stat_activity AS session USING (pid)
  WHERE session.pid IS NULL OR session.wait_event_type = 'Client'`;

// The transaction of a half-open connection holds its row locks until the server notices. Comparing the application name makes sure
// that a process id from another server does not match an unrelated session.
const endingSql = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE pid = ANY($1) AND wait_event_type = 'Client' AND usename = current_user AND application_name = current_setting('application_name')`;

/** Members of the driver's client that its types lack. */
type DriverClient = PoolClient & { readonly connection: { readonly stream: Stream }; readonly processID: number };

/** Node's count of bytes that the kernel has not accepted yet, which its types lack. */
type Stream = Socket & { readonly _handle?: { readonly writeQueueSize?: number } };

/** The error of a statement whose connection stalled. */
class Stalled extends Error {
  /** The code of TCP's own timeout. */
  readonly code = 'ETIMEDOUT';
  constructor() {
    super('the connection to the database stalled');
  }
}

/** Returns the total size of a statement's large values, such as images. */
const largeBytesOf = (statement: QueryConfig | string): number =>
  (typeof statement === 'string' ? [] : (statement.values ?? [])).reduce<number>(
    (sum, value) => sum + (value instanceof Uint8Array && value.length > largeBytes ? value.length : 0),
    0,
  );

/** A connection of the pool, with signs of its being alive. */
export class WatchedConnection {
  /** When it was opened or last finished its work (`performance.now()`). */
  lastActiveAt = performance.now();
  /** Since when it has had pending statements without transferring a byte; undefined while it is idle or active. */
  silentSince: number | undefined;
  private pendingQueries = 0;
  /** Total size of the large values in pending statements. */
  private pendingBytes = 0;
  private transferred = 0;
  /** Shared by all small statements, to save a function for each. */
  private readonly settled = (): void => this.settle(0);

  constructor(private readonly client: PoolClient) {}

  /** The process id of its session on the server. */
  get pid(): number {
    return (this.client as DriverClient).processID;
  }

  query<Row extends QueryResultRow>(statement: QueryConfig | string): Promise<QueryResult<Row>> {
    const bytes = largeBytesOf(statement);
    this.pendingQueries++;
    this.pendingBytes += bytes;
    const settled = bytes === 0 ? this.settled : () => this.settle(bytes);
    const answer = this.client.query<Row>(statement);
    answer.then(settled, settled);
    return answer;
  }

  private settle(bytes: number): void {
    this.pendingQueries--;
    this.pendingBytes -= bytes;
  }

  sample(now: number): void {
    const { stream } = (this.client as DriverClient).connection;
    // `writableLength` counts a large statement as unsent until its last byte is sent.
    const unsent = stream._handle?.writeQueueSize ?? stream.writableLength;
    const transferred = stream.bytesRead + stream.bytesWritten - unsent;
    if (this.pendingQueries === 0 || transferred !== this.transferred) this.silentSince = undefined;
    else this.silentSince ??= now;
    this.transferred = transferred;
  }

  /** Whether a large statement in transit may explain its silence. */
  isSending(now: number): boolean {
    return this.pendingBytes > 0 && now - (this.silentSince ?? now) < silenceLimitMs + this.pendingBytes / slowestBytesPerMs;
  }

  /** Closes it at once; the driver's `end` would wait for the server. */
  close(reason?: Error): void {
    (this.client as DriverClient).connection.stream.destroy(reason);
  }
}

/**
 * Finds half-open connections, whose peer, NAT or proxy dropped them without closing. TCP reports them only after 15 minutes, which
 * Node cannot shorten (no TCP_USER_TIMEOUT). Silence alone proves nothing, since a statement may wait for a lock. After a second of
 * silence, an inquiry on a new connection asks the server about the session. A session that waits for its client while the client
 * waits for it is cut off: the connection is dropped and the session terminated. Connections that were idle since before the stall
 * are replaced before their next use (docs/decisions/half-open-connections.md).
 */
export class StallWatch {
  /** Total number of dropped connections. */
  dropped = 0;
  private readonly connections = new Map<PoolClient, WatchedConnection>();
  /** Connections that have not been active since this time may have stalled together with the dropped ones. */
  private suspectBefore = -Infinity;
  private inquiring = false;
  private quietUntil = 0;
  private readonly timer: NodeJS.Timeout;

  constructor(
    pool: pg.Pool,
    /** The address of the same server, for connections outside the pool. */
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

  /** Whether an idle connection may have stalled together with others. */
  isSuspect(connection: WatchedConnection): boolean {
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
      now - (one.silentSince ?? now) >= silenceLimitMs || this.isSuspect(one);
    // One overdue connection triggers an inquiry about all silent ones.
    if (!silent.some(isOverdue)) return;
    this.inquiring = true;
    void this.inquire(silent).finally(() => (this.inquiring = false));
  }

  /** Asks the server about silent connections. Changes nothing if it does not answer, since a new connection would be no better. */
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
      this.logger.warn({ err: error, connections: silent.length }, 'database connections stalled, and asking the server about them failed');
    } finally {
      // The driver's `end` would wait for a server that may not answer.
      (inquiry as unknown as DriverClient).connection.stream.destroy();
    }
  }

  private async end(stalled: readonly WatchedConnection[], inquiry: pg.Client): Promise<void> {
    const pids = stalled.map(({ pid }) => pid);
    const stalledSince = Math.min(...stalled.map(({ silentSince }) => silentSince ?? Infinity));
    this.suspectBefore = stalledSince;
    this.dropped += stalled.length;
    this.logger.warn({ connections: stalled.length, pids, silentMs: Math.round(performance.now() - stalledSince) }, 'database connections stalled and were dropped');
    try {
      await inquiry.query(endingSql, [pids]);
    } finally {
      for (const one of stalled) one.close(new Stalled());
    }
  }
}
