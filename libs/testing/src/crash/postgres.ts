import type { Socket } from 'node:net';
import type { Database } from '@plant-shop/platform/postgres/database';
import type pg from 'pg';
import { type Fate, Run } from './run.js';

type Client = pg.PoolClient & { readonly connection: { readonly stream: Socket } };
type Query = (query: pg.QueryConfig) => Promise<unknown>;

const statementFates: readonly Fate[] = ['fails', 'loses its answer', 'is never answered', 'is the last'];
/** Long enough for the server to have done what it was told. */
const patienceMs = 100;

/** All that one service asks its database, in the hands of a test. */
export class TroubledDatabase {
  private readonly known = new Set<Client>();
  private inUse = 0;
  private opened: Promise<void> = Promise.resolve();
  private open: () => void = () => undefined;
  private isGone = false;

  constructor(database: Database) {
    // eslint-disable-next-line @typescript-eslint/dot-notation -- private to all others; so its type is still known here
    const pool = database['pool'];
    const connect = pool.connect.bind(pool) as () => Promise<Client>;
    pool.connect = (() => this.take(connect)) as typeof pool.connect;
  }

  /** What no use case led to waits from now on; resolves when nothing of it is under way. */
  async pause(): Promise<void> {
    this.opened = new Promise((resolve) => (this.open = resolve));
    while (this.inUse > 0) await new Promise((resolve) => setTimeout(resolve, 2));
  }

  resume(): void {
    this.open();
  }

  /** As when the process is gone: the server undoes what was not committed. */
  cut(): void {
    this.isGone = true;
    this.open();
    for (const client of this.known) client.connection.stream.destroy();
  }

  private async take(connect: () => Promise<Client>): Promise<Client> {
    const run = Run.current;
    if (!run) await this.opened;
    if (run?.isDead) return run.never();
    if (this.isGone) throw new Error('this process is gone');
    if (run?.meet({ what: 'connect', fates: ['fails'] }) === 'fails') {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    }
    const client = await connect();
    this.inUse++;
    const release = client.release.bind(client);
    client.release = (error) => {
      this.inUse--;
      release(error);
    };
    if (!this.known.has(client)) this.watch(client);
    return client;
  }

  private watch(client: Client): void {
    this.known.add(client);
    client.on('error', () => undefined);
    client.once('end', () => this.known.delete(client));
    const query = client.query.bind(client) as Query;
    const line = new Line(client);
    client.query = ((given: string | pg.QueryConfig) => {
      const asked = typeof given === 'string' ? { text: given } : given;
      const run = Run.current;
      return run ? ask(run, line, query, asked) : query(asked);
    }) as typeof client.query;
  }
}

/**
 * The way to the server. Statements go out without waiting for the answers to those before; of what comes after one that is
 * struck, nothing does, or the server might still be at it while the test looks.
 */
class Line {
  private fallSilent!: (error: Error) => void;
  /** Rejects when the process gives up a connection that says nothing any more. */
  readonly silence = new Promise<never>((_, reject) => (this.fallSilent = reject));
  isStruck = false;
  readonly closed: Promise<unknown>;

  constructor(private readonly client: Client) {
    this.silence.catch(() => undefined);
    this.closed = new Promise((resolve) => client.connection.stream.once('close', resolve));
  }

  /** What the driver does after 20 s, in its own words. */
  goSilent(): void {
    const { stream } = this.client.connection;
    stream.pause();
    setTimeout(() => {
      this.fallSilent(new Error('Query read timeout'));
      stream.destroy();
    }, patienceMs);
  }

  async cut(): Promise<void> {
    this.client.connection.stream.destroy();
    await this.closed;
  }
}

async function ask(run: Run, line: Line, query: Query, asked: pg.QueryConfig): Promise<unknown> {
  if (run.isDead) return run.never();
  const fate = run.meet({ what: shortOf(asked.name ?? asked.text), fates: statementFates });
  if (fate === undefined && line.isStruck) await line.closed;
  if (fate !== undefined) line.isStruck = true;
  if (fate === 'fails') await line.cut();
  if (fate === 'is the last') run.isDead = true;
  const sent = query(asked);
  if (fate === 'is never answered') line.goSilent();
  const answer = await Promise.race([sent, line.silence]);
  if (fate === 'is the last') run.end();
  if (fate === 'loses its answer') {
    await line.cut();
    throw new Error('Connection terminated unexpectedly');
  }
  // Another call may have been the last, meanwhile.
  return hasEnded(run) ? run.never() : answer;
}

const hasEnded = (run: Run): boolean => run.isDead;

const shortOf = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, 60);
