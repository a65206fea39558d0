import { DataSource, type EntityManager, type EntitySchema, type MixedList, type QueryRunner } from 'typeorm';
import pg, { type Pool, type PoolClient, type QueryResultRow } from 'pg';
import type { Logger } from '../logging.js';
import { loadMigrations } from './migrations.js';
import { isRetryable, translateDatabaseError } from './sqlstate.js';

// bigint arrives as text by default. Ours are bounded to safe integers by CHECK constraints.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

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

/** A service's own database: one pool, used by TypeORM and by SQL alike. */
export class Database {
  private constructor(
    readonly dataSource: DataSource,
    private readonly logger: Logger,
  ) {}

  static async connect(settings: DatabaseSettings, logger: Logger): Promise<Database> {
    const dataSource = new DataSource({
      type: 'postgres',
      url: settings.url,
      entities: settings.entities,
      migrations: await loadMigrations(settings.migrations),
      migrationsTableName: 'migrations',
      // Each migration is its own transaction, so a failed one leaves the earlier ones done.
      migrationsTransactionMode: 'each',
      applicationName: settings.applicationName,
      poolSize: settings.poolSize,
      poolErrorHandler: (error: unknown) => logger.warn({ err: error }, 'idle database connection lost'),
      extra: {
        // By default the pool waits for ever, and so would every request behind a dead database.
        connectionTimeoutMillis: 3_000,
        statement_timeout: 15_000,
        lock_timeout: 8_000,
        idle_in_transaction_session_timeout: 10_000,
        keepAlive: true,
      },
    });
    await dataSource.initialize();
    return new Database(dataSource, logger);
  }

  /**
   * Runs `work` in one READ COMMITTED transaction, again (at most 5 times) when Postgres undid it for a deadlock. No
   * network call belongs inside.
   * @throws CodedError `unavailable` when the database is away (nothing happened), `outcome-unknown` when the connection
   * was lost during COMMIT
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.once(work);
      } catch (error) {
        if (attempt >= attempts || !isRetryable(error)) throw error;
        this.logger.info({ attempt }, 'transaction undone by a deadlock, running it again');
      }
    }
  }

  /** Rows of one statement outside any transaction of ours. */
  async query<Row extends QueryResultRow>(statement: Statement | string, values: readonly unknown[] = []): Promise<Row[]> {
    try {
      const result = await this.pool.query<Row>(toQuery(statement, values));
      return result.rows;
    } catch (error) {
      throw translateDatabaseError(error, 'work');
    }
  }

  /** @throws CodedError `unavailable` */
  async check(): Promise<void> {
    await this.query('SELECT 1');
  }

  /** Names of the migrations that were run. Two at the same time wait for each other. */
  async migrate(): Promise<string[]> {
    const client = await this.pool.connect();
    try {
      await client.query(`SELECT pg_advisory_lock(hashtext('migrations'))`);
      const done = await this.dataSource.runMigrations();
      return done.map((migration) => migration.name);
    } finally {
      // Ends the session and with it the lock.
      client.release(true);
    }
  }

  /** Migrations of this build that the database lacks: a service with such a gap is not ready. */
  async hasPendingMigrations(): Promise<boolean> {
    return this.dataSource.showMigrations();
  }

  async close(): Promise<void> {
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
  }

  private get pool(): Pool {
    return (this.dataSource.driver as unknown as { master: Pool }).master;
  }

  private async once<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    let during: 'work' | 'commit' = 'work';
    try {
      const client = (await runner.connect()) as PoolClient;
      await client.query('BEGIN');
      const result = await work(transactionOn(client, runner));
      during = 'commit';
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await rollBack(runner, this.logger);
      throw translateDatabaseError(error, during);
    } finally {
      await runner.release();
    }
  }
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

/** The first error is what matters; a connection on which even ROLLBACK fails is dropped by the pool. */
async function rollBack(runner: QueryRunner, logger: Logger): Promise<void> {
  try {
    await runner.query('ROLLBACK');
  } catch (error) {
    logger.warn({ err: error }, 'rollback failed, the connection is dropped');
  }
}
