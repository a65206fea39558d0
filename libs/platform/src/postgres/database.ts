import pg, { type Pool, type PoolClient, type QueryResult, type QueryResultRow } from 'pg';
import type { EntityManager, ObjectLiteral, Repository } from 'typeorm';
import { unavailable } from '../errors.js';
import type { Logger } from '../logging.js';
import { addressOf, type DatabaseAddress } from './address.js';
import type { Entities } from './entities.js';
import { migrationNames } from './migration-files.js';
import { traceStatements } from './sql-spans.js';
import { StallWatch, type WatchedConnection } from './stall-watch.js';
import { type DatabasePhase, isConnectionError, isRetryable, translateDatabaseError } from './sqlstate.js';

// bigint arrives as text by default. Ours are bounded to safe integers by CHECK constraints; another one is a defect
// that must not be rounded.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is beyond the integers that a number holds`);
  return value;
});

export interface DatabaseSettings extends DatabaseAddress {
  /** Shown by Postgres in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly poolSize: number;
  /** Folder of the numbered `.sql` files. */
  readonly migrations: URL;
  /** Tables whose access is plain reading and writing of rows. A service without any does not load TypeORM. */
  readonly entities?: readonly EntityClass[];
}

/** A class with TypeORM's `@Entity`. */
export type EntityClass<Row extends ObjectLiteral = ObjectLiteral> = new () => Row;

/** A statement with a name is prepared once per connection: planning a batch costs more than running it. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/**
 * What repositories take as their first argument: the braces of `Database.transaction` are its extent. Statements are sent
 * when they are asked for and carried out in that order: who asks for several before waiting pays one round trip.
 */
export interface Transaction {
  /** Rows of one statement. */
  query<Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): Promise<Row[]>;
  /** Rows changed by one statement. */
  execute(statement: Statement | string, values?: readonly unknown[]): Promise<number>;
  /** One statement whose outcome nobody waits for: when it fails, so does the transaction. COMMIT may follow it at once. */
  send(statement: Statement | string, values?: readonly unknown[]): void;
  /** Like `send`, for rows that nobody needs before the commit. @returns what gives them after it */
  later<Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): () => Row[];
  /** TypeORM's repository of an entity. Its statements are part of this transaction, in order with those of `query`. */
  repository<Row extends ObjectLiteral>(entity: EntityClass<Row>): Repository<Row>;
}

/** Of a pool, at this moment. */
export interface PoolUse {
  /** Most connections that it opens. */
  readonly size: number;
  readonly busy: number;
  readonly idle: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
  /** Connections dropped so far because they stalled. */
  readonly stalled: number;
}

const attempts = 5;

/** By default the pool waits for ever, and so would every request behind a dead database. */
const connectLimit = { connectionTimeoutMillis: 3_000, keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

const statementLimits = {
  statement_timeout: 15_000,
  lock_timeout: 8_000,
  idle_in_transaction_session_timeout: 5_000,
  // For a server that no longer keeps its own limits: stopped, or cut off.
  query_timeout: 20_000,
};

const serverSettings = {
  // Compiling a statement takes Postgres most of a second, and it does so where it guesses badly how many rows there are (a
  // table of one row that was never analysed). None of ours runs long enough to pay for it.
  jit: 'off',
  // Within about five seconds the server undoes the transaction of a host that vanished, which would hold its row locks until
  // TCP gives up (two hours when idle), and ends a statement whose client has gone.
  tcp_keepalives_idle: 2,
  tcp_keepalives_interval: 1,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 5_000,
  client_connection_check_interval: 2_000,
};

const options = Object.entries(serverSettings)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ');

export interface TransactionOptions {
  /**
   * For a few statements that are run many times a second: Postgres plans each once on a connection, for any values, and by its
   * indexes. Left to itself it plans nearly every time anew where it guesses that arrays hold ten values and they hold two, and
   * keeps a plan that reads a whole table, made when that was empty, until it is next analysed (docs/decisions/batches.md).
   */
  readonly keepsPlans?: boolean;
}

const beginKeepingPlans = 'BEGIN; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off';

/** A service's own database: one pool of connections, and SQL. */
export class Database {
  /** Sends each statement on a connection of its own, outside any transaction. */
  private readonly manager: EntityManager | undefined;

  private constructor(
    private readonly pool: Pool,
    private readonly watch: StallWatch,
    private readonly entities: Entities | undefined,
    private readonly settings: DatabaseSettings,
    private readonly logger: Logger,
  ) {
    this.manager = entities?.manager((text, values) => this.run(text, values), { inTransaction: false });
  }

  /** Answers when it can be reached. @throws whatever the driver says when it cannot */
  static async connect(settings: DatabaseSettings, logger: Logger): Promise<Database> {
    const { url, applicationName, poolSize } = settings;
    const address = { connectionString: addressOf(settings), application_name: applicationName };
    const pool = new pg.Pool({
      ...address,
      max: poolSize,
      // Statements are sent without waiting for the answers to those before.
      pipeline: true,
      ...connectLimit,
      ...statementLimits,
      options,
    });
    const watch = new StallWatch(pool, address, logger);
    pool.on('error', (error) => logger.warn({ err: error }, 'idle database connection lost'));
    traceStatements(pool, url);
    try {
      (await pool.connect()).release();
      return new Database(pool, watch, await entitiesOn(pool, settings, logger), settings, logger);
    } catch (error) {
      watch.stop();
      if (!pool.ended) await pool.end();
      throw error;
    }
  }

  /**
   * Runs `work` in one READ COMMITTED transaction, again (at most 5 times) when Postgres undid it for a deadlock. No
   * network call belongs inside.
   * @throws CodedError `unavailable` when the database is away or too busy (nothing happened), `outcome-unknown` when the
   * connection was lost or stalled during COMMIT
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>, { keepsPlans = false }: TransactionOptions = {}): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.onConnection((connection) => once(connection, keepsPlans ? beginKeepingPlans : 'BEGIN', work, this.entities, this.logger));
      } catch (error) {
        if (!isRetryable(error)) throw error;
        if (attempt >= attempts) throw unavailable('The database', error);
        this.logger.info({ attempt }, 'transaction undone by a deadlock, running it again');
      }
    }
  }

  /**
   * Rows of one statement outside any transaction of ours.
   * @throws CodedError `unavailable`; `outcome-unknown` when the connection was lost under a statement that may change
   * something, since it commits by itself
   */
  async query<Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): Promise<Row[]> {
    return (await this.run<Row>(statement, values)).rows;
  }

  /** TypeORM's repository of an entity, outside any transaction: each statement commits by itself, and fails as in `query`. */
  repository<Row extends ObjectLiteral>(entity: EntityClass<Row>): Repository<Row> {
    return repositoryOf(this.manager, entity);
  }

  private run<Row extends QueryResultRow>(statement: Statement | string, values: readonly unknown[] = []): Promise<QueryResult<Row>> {
    return this.onConnection(async (connection) => {
      try {
        return await connection.query<Row>(toQuery(statement, values));
      } catch (error) {
        throw new Failed(onlyReads(statement) ? 'work' : 'commit', error, isConnectionError(error));
      }
    });
  }

  /** @throws CodedError `unavailable` */
  async check(): Promise<void> {
    await this.query('SELECT 1');
  }

  /** Names of the migrations that were run. Two at the same time wait for each other. */
  async migrate(): Promise<string[]> {
    return Database.migrate(this.settings, this.logger);
  }

  /**
   * Like the method, on a connection of its own without the limits of requests: building an index takes its time.
   * @param serviceRole the role that the service runs as, if that is not the one in `settings`
   */
  static async migrate(settings: DatabaseSettings, logger: Logger, serviceRole?: string): Promise<string[]> {
    // TypeORM is large, and only whoever migrates needs it.
    const { runMigrations } = await import('./migrations.js');
    return runMigrations(settings, logger, { extra: connectLimit, ...(serviceRole !== undefined && { serviceRole }) });
  }

  /** Whether this build has migrations that the database lacks: a service with such a gap is not ready. */
  async hasPendingMigrations(): Promise<boolean> {
    // TypeORM's own question creates its table when there is none: a service that starts beside its migration job would
    // make that job fail.
    const [table] = await this.query<{ name: string | null }>(`SELECT to_regclass('migrations')::text AS name`);
    const rows = table?.name ? await this.query<{ name: string }>('SELECT name FROM migrations') : [];
    const done = new Set(rows.map(({ name }) => name));
    return (await migrationNames(this.settings.migrations)).some((name) => !done.has(name));
  }

  async close(): Promise<void> {
    if (!this.pool.ended) await this.pool.end();
    this.watch.stop();
  }

  get poolUse(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.pool;
    return { size: this.settings.poolSize, busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount, stalled: this.watch.dropped };
  }

  /** A connection that is of no more use is taken out of the pool instead of being given back. */
  private async onConnection<T>(work: (connection: WatchedConnection) => Promise<T>): Promise<T> {
    const client = await this.takeClient();
    const connection = this.watch.of(client);
    let lost: Error | undefined;
    // A connection that ends while nobody listens would end the process.
    const onError = (error: Error): void => {
      lost = error;
    };
    client.on('error', onError);
    try {
      const result = await work(connection);
      connection.provenAt = performance.now();
      return result;
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      if (error.isConnectionLost) lost ??= error;
      throw translateDatabaseError(error.cause, error.phase);
    } finally {
      client.off('error', onError);
      client.release(lost);
    }
  }

  private async takeClient(): Promise<PoolClient> {
    try {
      for (;;) {
        const client = await this.pool.connect();
        const connection = this.watch.of(client);
        if (!this.watch.suspects(connection)) return client;
        connection.close();
        client.release(true);
      }
    } catch (error) {
      throw translateDatabaseError(error, 'connect');
    }
  }
}

/** What failed on a connection, and how far it had come. */
class Failed extends Error {
  constructor(
    readonly phase: DatabasePhase,
    override readonly cause: unknown,
    readonly isConnectionLost: boolean,
  ) {
    super('failed', { cause });
  }
}

/** One attempt. BEGIN goes out with the first statement, COMMIT with those that `send` sent last. */
async function once<T>(
  connection: WatchedConnection,
  begin: string,
  work: (tx: Transaction) => Promise<T>,
  entities: Entities | undefined,
  logger: Logger,
): Promise<T> {
  let phase: DatabasePhase = 'work';
  let failure: unknown;
  const sent: Promise<unknown>[] = [];
  const later = <Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): (() => Row[]) => {
    let rows: Row[] | undefined;
    const outcome = connection.query<Row>(toQuery(statement, values));
    outcome.then(
      (result) => (rows = result.rows),
      (error: unknown) => (failure ??= error),
    );
    sent.push(outcome);
    return () => {
      if (!rows) throw new Error('These rows are there after the commit.');
      return rows;
    };
  };
  const send: Transaction['send'] = (statement, values) => void later(statement, values);
  try {
    send(begin);
    const result = await work(transactionOn(connection, send, later, entities));
    phase = 'commit';
    send('COMMIT');
    const outcomes = await Promise.all(sent);
    const { command } = outcomes.at(-1) as { command: string };
    if (command !== 'COMMIT') throw new Error('A statement failed, its error was caught, and Postgres undid the transaction.');
    return result;
  } catch (error) {
    // Statements after one that failed say no more than that.
    const cause = failure ?? error;
    throw new Failed(phase, cause, isConnectionError(cause) || !(await rollBack(connection, logger)));
  }
}

/** @returns whether it worked; if not, the connection is of no more use */
async function rollBack(connection: WatchedConnection, logger: Logger): Promise<boolean> {
  try {
    await connection.query('ROLLBACK');
    return true;
  } catch (error) {
    logger.warn({ err: error }, 'rollback failed, the connection is dropped');
    return false;
  }
}

function transactionOn(
  connection: WatchedConnection,
  send: Transaction['send'],
  later: Transaction['later'],
  entities: Entities | undefined,
): Transaction {
  // Few transactions use an entity, so the manager is made on first use.
  let manager: EntityManager | undefined;
  return {
    query: async <Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]) =>
      (await connection.query<Row>(toQuery(statement, values))).rows,
    execute: async (statement, values) => (await connection.query(toQuery(statement, values))).rowCount ?? 0,
    send,
    later,
    repository: (entity) => {
      manager ??= entities?.manager((text, values) => connection.query(toQuery(text, values)), { inTransaction: true });
      return repositoryOf(manager, entity);
    },
  };
}

/** TypeORM takes 20 MB and 0.2 s of CPU, so only a service with entities loads it. */
async function entitiesOn(pool: Pool, { entities = [] }: DatabaseSettings, logger: Logger): Promise<Entities | undefined> {
  if (entities.length === 0) return undefined;
  const { Entities } = await import('./entities.js');
  return Entities.on(pool, entities, logger);
}

function repositoryOf<Row extends ObjectLiteral>(manager: EntityManager | undefined, entity: EntityClass<Row>): Repository<Row> {
  if (!manager) throw new Error('This database was opened without entities.');
  return manager.getRepository(entity);
}

const toQuery = (statement: Statement | string, values?: readonly unknown[]): pg.QueryConfig => ({
  ...(typeof statement === 'string' ? { text: statement } : statement),
  ...(values && { values: values as unknown[] }),
});

/** A WITH may hold an INSERT, so it does not count as reading. */
const onlyReads = (statement: Statement | string): boolean =>
  /^\s*(--[^\n]*\n\s*)*SELECT\b/i.test(typeof statement === 'string' ? statement : statement.text);
