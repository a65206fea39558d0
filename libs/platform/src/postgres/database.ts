import { DataSource, type EntityManager, type EntitySchema, type MixedList, type QueryRunner } from 'typeorm';
import pg, { type Pool, type PoolClient, type QueryResultRow } from 'pg';
import { unavailable } from '../errors.js';
import type { Logger } from '../logging.js';
import { loadMigrations, pendingMigrations, runMigrations } from './migrations.js';
import { traceStatements } from './sql-spans.js';
import { type DatabasePhase, isConnectionError, isRetryable, translateDatabaseError } from './sqlstate.js';
import { TypeOrmLogger } from './typeorm-logger.js';

// bigint arrives as text by default. Ours are bounded to safe integers by CHECK constraints; another one is a defect
// that must not be rounded.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is beyond the integers that a number holds`);
  return value;
});

export interface DatabaseSettings {
  readonly url: string;
  /** Shown by Postgres in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly poolSize: number;
  readonly entities: MixedList<string | (new () => object) | EntitySchema>;
  /** Folder of the numbered `.sql` files. */
  readonly migrations: URL;
}

/** A statement with a name is prepared once per connection: planning a batch costs more than running it. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** What repositories take as their first argument: the braces of `Database.transaction` are its extent. */
export interface Transaction {
  /** Rows of one statement. */
  query<Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): Promise<Row[]>;
  /** Rows changed by one statement. */
  execute(statement: Statement | string, values?: readonly unknown[]): Promise<number>;
  /** TypeORM on the same connection and in the same transaction, for plain CRUD. */
  readonly manager: EntityManager;
}

const attempts = 5;

/** By default the pool waits for ever, and so would every request behind a dead database. */
const connectLimit = { connectionTimeoutMillis: 3_000, keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

const statementLimits = {
  statement_timeout: 15_000,
  lock_timeout: 8_000,
  idle_in_transaction_session_timeout: 10_000,
  // For a server that no longer keeps its own limits: stopped, or cut off.
  query_timeout: 20_000,
};

/**
 * Compiling a statement takes Postgres most of a second, and it does so where it guesses badly how many rows there are (a
 * table of one row that was never analysed). None of ours runs long enough to pay for it.
 */
const planning = { options: '-c jit=off' };

/** A service's own database: one pool, used by TypeORM and by SQL alike. */
export class Database {
  private constructor(
    readonly dataSource: DataSource,
    private readonly settings: DatabaseSettings,
    private readonly logger: Logger,
  ) {}

  static async connect(settings: DatabaseSettings, logger: Logger): Promise<Database> {
    const dataSource = await open(settings, logger, { ...connectLimit, ...statementLimits, ...planning });
    const database = new Database(dataSource, settings, logger);
    traceStatements(database.pool, settings.url);
    return database;
  }

  /**
   * Runs `work` in one READ COMMITTED transaction, again (at most 5 times) when Postgres undid it for a deadlock. No
   * network call belongs inside.
   * @throws CodedError `unavailable` when the database is away or too busy (nothing happened), `outcome-unknown` when the
   * connection was lost during COMMIT
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.once(work);
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
  async query<Row extends QueryResultRow>(statement: Statement | string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = await this.takeClient();
    let lost: Error | undefined;
    // A connection that ends while nobody listens would end the process.
    const onError = (error: Error): void => {
      lost = error;
    };
    client.on('error', onError);
    try {
      return (await client.query<Row>(toQuery(statement, values))).rows;
    } catch (error) {
      if (isConnectionError(error)) lost = error as Error;
      throw translateDatabaseError(error, onlyReads(statement) ? 'work' : 'commit');
    } finally {
      client.off('error', onError);
      client.release(lost);
    }
  }

  /** @throws CodedError `unavailable` */
  async check(): Promise<void> {
    await this.query('SELECT 1');
  }

  /** Names of the migrations that were run. Two at the same time wait for each other. */
  async migrate(): Promise<string[]> {
    return Database.migrate(this.settings, this.logger);
  }

  /** Like the method, on a connection of its own without the limits of requests: building an index takes its time. */
  static async migrate(settings: DatabaseSettings, logger: Logger): Promise<string[]> {
    const dataSource = await open({ ...settings, poolSize: 1 }, logger, connectLimit);
    try {
      return await runMigrations(dataSource);
    } finally {
      await dataSource.destroy();
    }
  }

  /** Migrations of this build that the database lacks: a service with such a gap is not ready. */
  async hasPendingMigrations(): Promise<boolean> {
    return (await pendingMigrations(this.dataSource, (text) => this.query(text))).length > 0;
  }

  async close(): Promise<void> {
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
  }

  private get pool(): Pool {
    return (this.dataSource.driver as unknown as { master: Pool }).master;
  }

  private async takeClient(): Promise<PoolClient> {
    try {
      return await this.pool.connect();
    } catch (error) {
      throw translateDatabaseError(error, 'connect');
    }
  }

  private async once<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    let phase: DatabasePhase = 'connect';
    try {
      const client = (await runner.connect()) as PoolClient;
      await client.query('BEGIN');
      phase = 'work';
      const result = await work(transactionOn(client, runner));
      phase = 'commit';
      const { command } = await client.query('COMMIT');
      if (command !== 'COMMIT') throw new Error('A statement failed, its error was caught, and Postgres undid the transaction.');
      return result;
    } catch (error) {
      if (phase === 'connect' || isConnectionError(error)) await drop(runner, error);
      else await this.rollBack(runner);
      throw translateDatabaseError(error, phase);
    } finally {
      await runner.release();
    }
  }

  /** The first error is what matters; a connection on which even ROLLBACK fails is dropped. */
  private async rollBack(runner: QueryRunner): Promise<void> {
    try {
      await runner.query('ROLLBACK');
    } catch (error) {
      this.logger.warn({ err: error }, 'rollback failed, the connection is dropped');
      await drop(runner, error);
    }
  }
}

async function open(settings: DatabaseSettings, logger: Logger, limits: object): Promise<DataSource> {
  const dataSource = new DataSource({
    type: 'postgres',
    url: settings.url,
    entities: settings.entities,
    migrations: await loadMigrations(settings.migrations),
    migrationsTableName: 'migrations',
    applicationName: settings.applicationName,
    poolSize: settings.poolSize,
    poolErrorHandler: (error: unknown) => logger.warn({ err: error }, 'idle database connection lost'),
    // By default TypeORM writes to the console.
    logger: new TypeOrmLogger(logger),
    extra: limits,
  });
  return dataSource.initialize();
}

/**
 * Takes the connection out of the pool instead of giving it back. TypeORM does so by itself only when it hears the
 * connection end; declared private, it is the one way to tell it so.
 */
async function drop(runner: QueryRunner, error: unknown): Promise<void> {
  const droppable = runner as unknown as { releasePostgresConnection(error: unknown): Promise<void> };
  await droppable.releasePostgresConnection(error);
}

function transactionOn(client: PoolClient, runner: QueryRunner): Transaction {
  return {
    query: async <Row extends QueryResultRow>(statement: Statement | string, values: readonly unknown[] = []) =>
      (await client.query<Row>(toQuery(statement, values))).rows,
    execute: async (statement, values = []) => (await client.query(toQuery(statement, values))).rowCount ?? 0,
    get manager() {
      return runner.manager;
    },
  };
}

const toQuery = (statement: Statement | string, values: readonly unknown[]): pg.QueryConfig =>
  typeof statement === 'string'
    ? { text: statement, values: [...values] }
    : { name: statement.name, text: statement.text, values: [...values] };

/** A WITH may hold an INSERT, so it does not count as reading. */
const onlyReads = (statement: Statement | string): boolean =>
  /^\s*(--[^\n]*\n\s*)*SELECT\b/i.test(typeof statement === 'string' ? statement : statement.text);
