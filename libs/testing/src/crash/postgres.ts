import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Database } from '@plant-shop/platform/postgres/database';
import type pg from 'pg';
import { type Fate, Run } from './run.js';

type Client = pg.PoolClient & { readonly connection: { readonly stream: Socket } };
type OnClient = (error: unknown, client: unknown, release: unknown) => void;
type Query = pg.QueryConfig & { readonly query_timeout?: number };

const statementFates: readonly Fate[] = ['fails', 'loses its answer', 'is never answered', 'is the last'];
/** In the place of the 20 s after which the driver gives up a connection that says nothing. */
const patienceMs = 100;

/** All that one service asks its database, in the hands of a test. */
export class TroubledDatabase {
  private readonly known = new Set<Client>();
  private inUse = 0;
  private opened: Promise<void> = Promise.resolve();
  private open: () => void = () => undefined;
  private isGone = false;

  constructor(database: Database) {
    const { master: pool } = database.dataSource.driver as unknown as { master: pg.Pool };
    const connect = pool.connect.bind(pool) as () => Promise<Client>;
    // The pool is asked by promise (ours) and by callback (TypeORM).
    pool.connect = ((callback?: OnClient) => {
      const taken = this.take(connect);
      if (!callback) return taken;
      taken.then(
        (client) => callback(undefined, client, client.release.bind(client)),
        (error: unknown) => callback(error, undefined, () => undefined),
      );
      return undefined;
    }) as typeof pool.connect;
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
    const query = client.query.bind(client) as (query: Query) => Promise<unknown>;
    client.query = ((given: string | Query, values?: unknown[]) => {
      const asked = typeof given === 'string' ? { text: given, ...(values && { values }) } : given;
      const run = Run.current;
      return run ? this.ask(run, client, query, asked) : query(asked);
    }) as typeof client.query;
  }

  private async ask(run: Run, client: Client, query: (query: Query) => Promise<unknown>, asked: Query): Promise<unknown> {
    if (run.isDead) return run.never();
    const fate = run.meet({ what: shortOf(asked.name ?? asked.text), fates: statementFates });
    switch (fate) {
      case undefined:
        break;
      case 'fails':
        await gone(client);
        break;
      case 'loses its answer':
        await query(asked);
        await gone(client);
        throw new Error('Connection terminated unexpectedly');
      case 'is never answered': {
        const answer = query({ ...asked, query_timeout: patienceMs });
        client.connection.stream.pause();
        return answer;
      }
      case 'is the last':
        await query(asked);
        run.end();
        return run.never();
    }
    const answer = await query(asked);
    // Another call may have been the last, meanwhile.
    return hasEnded(run) ? run.never() : answer;
  }
}

const hasEnded = (run: Run): boolean => run.isDead;

async function gone({ connection: { stream } }: Client): Promise<void> {
  const closed = once(stream, 'close');
  stream.destroy();
  await closed;
}

const shortOf = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, 60);
