import type { Socket } from 'node:net';
import type { Database } from '@plant-shop/platform/postgres/database';
import type pg from 'pg';
import { type Fault, Run } from './run.js';

type Client = pg.PoolClient & { readonly connection: { readonly stream: Socket } };
type Query = (query: pg.QueryConfig) => Promise<unknown>;

const statementFaults: readonly Fault[] = ['fails', 'loses its answer', 'is never answered', 'crashes the process'];
/** Time in which the server has surely executed the statement. */
const serverWorkMs = 100;

/** Injects faults into all statements of one service. */
export class FaultyDatabase {
  private readonly clients = new Set<Client>();
  private inUse = 0;
  private resumed: Promise<void> = Promise.resolve();
  private resolveResumed: () => void = () => undefined;
  private isCut = false;

  constructor(database: Database) {
    // eslint-disable-next-line @typescript-eslint/dot-notation -- reads a private member, whose type declarations omit
    const pool: pg.Pool = database['pool'];
    const connect = pool.connect.bind(pool) as () => Promise<Client>;
    pool.connect = (() => this.acquire(connect)) as typeof pool.connect;
  }

  /** Blocks background work from getting a connection. Resolves when no connection is in use. */
  async pause(): Promise<void> {
    this.resumed = new Promise((resolve) => (this.resolveResumed = resolve));
    while (this.inUse > 0) await new Promise((resolve) => setTimeout(resolve, 2));
  }

  resume(): void {
    this.resolveResumed();
  }

  /** Destroys all connections, as the end of the process would: the server rolls back what was not committed. */
  cut(): void {
    this.isCut = true;
    this.resume();
    for (const client of this.clients) client.connection.stream.destroy();
  }

  private async acquire(connect: () => Promise<Client>): Promise<Client> {
    const run = Run.current;
    if (!run) await this.resumed;
    if (run?.hasCrashed) return run.hangUntilReleased();
    if (this.isCut) throw new Error('this process has crashed');
    if (run?.faultFor({ description: 'connect', faults: ['fails'] }) === 'fails') {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    }
    const client = await connect();
    this.inUse++;
    const release = client.release.bind(client);
    client.release = (error) => {
      this.inUse--;
      release(error);
    };
    if (!this.clients.has(client)) this.instrument(client);
    return client;
  }

  private instrument(client: Client): void {
    this.clients.add(client);
    client.on('error', () => undefined);
    client.once('end', () => this.clients.delete(client));
    const query = client.query.bind(client) as Query;
    const connection = new ClientConnection(client);
    client.query = ((given: string | pg.QueryConfig) => {
      const statement = typeof given === 'string' ? { text: given } : given;
      const run = Run.current;
      return run ? queryWithFaults(run, connection, query, statement) : query(statement);
    }) as typeof client.query;
  }
}

/**
 * A connection to the server. Statements are pipelined, but none is sent after a statement with a fault: the server might still be
 * executing it while the test checks the outcome.
 */
class ClientConnection {
  private rejectTimedOut!: (error: Error) => void;
  /** Rejects when the stalled connection times out. */
  readonly timedOut = new Promise<never>((_, reject) => (this.rejectTimedOut = reject));
  isFaulty = false;
  readonly closed: Promise<unknown>;

  constructor(private readonly client: Client) {
    this.timedOut.catch(() => undefined);
    this.closed = new Promise((resolve) => client.connection.stream.once('close', resolve));
  }

  /** Stops reading, and times out like the driver, but after 100 ms instead of 20 s. */
  stall(): void {
    const { stream } = this.client.connection;
    stream.pause();
    setTimeout(() => {
      this.rejectTimedOut(new Error('Query read timeout'));
      stream.destroy();
    }, serverWorkMs);
  }

  async cut(): Promise<void> {
    this.client.connection.stream.destroy();
    await this.closed;
  }
}

async function queryWithFaults(run: Run, connection: ClientConnection, query: Query, statement: pg.QueryConfig): Promise<unknown> {
  if (run.hasCrashed) return run.hangUntilReleased();
  const fault = run.faultFor({ description: shortText(statement.name ?? statement.text), faults: statementFaults });
  if (fault === undefined && connection.isFaulty) await connection.closed;
  if (fault !== undefined) connection.isFaulty = true;
  if (fault === 'fails') await connection.cut();
  if (fault === 'crashes the process') run.hasCrashed = true;
  const sent = query(statement);
  if (fault === 'is never answered') connection.stall();
  const answer = await Promise.race([sent, connection.timedOut]);
  if (fault === 'crashes the process') run.crash();
  if (fault === 'loses its answer') {
    await connection.cut();
    throw new Error('Connection terminated unexpectedly');
  }
  // Another call may have crashed the process meanwhile.
  return hasCrashed(run) ? run.hangUntilReleased() : answer;
}

/** Reads the flag again: TypeScript assumes that it is still false. */
const hasCrashed = (run: Run): boolean => run.hasCrashed;

const shortText = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, 60);
