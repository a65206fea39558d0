import pg, { type Pool, type PoolClient, type QueryResult, type QueryResultRow } from 'pg';
import type { EntityManager, ObjectLiteral, Repository } from 'typeorm';
import { CodedError, unavailable } from '../errors.js';
import type { Logger } from '../logging.js';
import { addressOf, type DatabaseAddress } from './address.js';
import type { Entities } from './entities.js';
import { listParameter, onlyRow } from './rows.js';
import { modeFaultOf, readMode, SchemaCheck } from './schema-check.js';
import { traceStatements } from './sql-spans.js';
import { StallWatch, type WatchedConnection } from './stall-watch.js';
import {
  type DatabasePhase,
  idleTimeout,
  isConnectionError,
  isOfFailedTransaction,
  isRetryable,
  isSchemaError,
  lockTimeout,
  sqlStateOf,
  statementTimeout,
  translateDatabaseError,
} from './sqlstate.js';

// By default bigint arrives as text. CHECK constraints bound ours to safe integers; any other value is a defect and must not be
// rounded.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} exceeds the safe integers`);
  return value;
});

export interface DatabaseSettings extends DatabaseAddress {
  /** Shown by Postgres in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly poolSize: number;
  /** Folder of the numbered `.sql` files. */
  readonly migrations: URL;
  /** The mode that the database must have. Absent: its schema has none. */
  readonly sandbox?: boolean;
  /** Entities of tables with plain reads and writes of rows. A service without entities does not load TypeORM. */
  readonly entities?: readonly EntityClass[];
}

/** A class with TypeORM's `@Entity`. */
export type EntityClass<Row extends ObjectLiteral = ObjectLiteral> = new () => Row;

/** A named statement, which is prepared once per connection: planning a batch costs more than running it. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/**
 * A transaction, which repositories take as their first argument. It extends over the callback of `Database.transaction`. Statements
 * are sent at once and executed in that order: several statements without an await between them cost one round trip.
 */
export interface Transaction {
  /** Returns the rows of a statement. */
  query<Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): Promise<Row[]>;
  /** Returns the number of rows that a statement changed. */
  execute(statement: Statement | string, values?: readonly unknown[]): Promise<number>;
  /** Sends a statement without waiting for its outcome. If it fails, the transaction fails. COMMIT may follow it at once. */
  send(statement: Statement | string, values?: readonly unknown[]): void;
  /** Like `send`, for rows that are only needed after the commit. @returns a function that returns the rows once committed */
  later<Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): () => Row[];
  /** Returns TypeORM's repository of an entity. Its statements are part of this transaction, in order with those of `query`. */
  repository<Row extends ObjectLiteral>(entity: EntityClass<Row>): Repository<Row>;
}

/** The database outside a transaction, or a transaction. */
export type Reader = Pick<Transaction, 'query'>;

/** The current use of a connection pool. */
export interface PoolUse {
  /** Maximum number of connections. */
  readonly size: number;
  readonly busy: number;
  readonly idle: number;
  /** Number of callers that wait for a connection. */
  readonly waiting: number;
  /** Total number of connections that were dropped because they stalled. */
  readonly stalled: number;
}

const attempts = 5;

/** By default the pool waits forever for a connection, and so would every request while the database is unreachable. */
const connectLimit = { connectionTimeoutMillis: 3_000, keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

const statementLimits = {
  statement_timeout: 15_000,
  lock_timeout: 8_000,
  idle_in_transaction_session_timeout: 5_000,
  // For a server that no longer enforces its own limits, because it is stopped or unreachable.
  query_timeout: 20_000,
};

const serverSettings = {
  // JIT compilation takes most of a second, and happens when Postgres misestimates the number of rows (a table of one row that was
  // never analysed). None of our statements runs long enough to benefit from it.
  jit: 'off',
  // Within about five seconds the server rolls back the transaction of a vanished host, whose row locks it would otherwise hold until
  // TCP gives up (two hours when idle), and cancels a statement whose client is gone.
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
   * Uses generic plans and no sequential scans, for a few statements that run many times a second. Postgres then plans each statement
   * once per connection. By default it plans nearly every execution, because it estimates arrays at ten values when they hold two; and
   * a sequential scan that was planned while a table was empty stays until the table is analysed (docs/decisions/orders.md).
   */
  readonly useGenericPlans?: boolean;
  /** Limits each statement, and to a fifth of it each wait for a lock, because others wait for the locks of this transaction. By default 15 s and 8 s. */
  readonly limitMs?: number;
}

const limitStatements: Statement = { name: 'limit-statements', text: `SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true)` };

/** Returns the limit that a transaction with this error exceeds, in milliseconds; 0 for other errors. @param limitMs its own, if it has one */
function limitOf(error: unknown, limitMs: number | undefined): number {
  switch (sqlStateOf(error instanceof CodedError ? error.cause : error)) {
    case statementTimeout:
      return limitMs ?? statementLimits.statement_timeout;
    case lockTimeout:
      return limitMs === undefined ? statementLimits.lock_timeout : lockLimitOf(limitMs);
    case idleTimeout:
      return statementLimits.idle_in_transaction_session_timeout;
    default:
      return 0;
  }
}

const lockLimitOf = (limitMs: number): number => Math.ceil(limitMs / 5);

const beginWithGenericPlans = 'BEGIN; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off';

/** A service's database, accessed with SQL through one connection pool. */
export class Database {
  /** Sends each statement outside any transaction, on any connection of the pool. */
  private readonly manager: EntityManager | undefined;
  private readonly schema: SchemaCheck;

  private constructor(
    private readonly pool: Pool,
    private readonly watch: StallWatch,
    private readonly entities: Entities | undefined,
    private readonly settings: DatabaseSettings,
    private readonly logger: Logger,
  ) {
    this.schema = new SchemaCheck(settings.migrations, logger);
    this.manager = entities?.manager((text, values) => this.run(text, values), { inTransaction: false });
  }

  /** Opens the pool and checks that the database is reachable. @throws the driver's error if it is not */
  static async connect(settings: DatabaseSettings, logger: Logger): Promise<Database> {
    const { url, applicationName, poolSize } = settings;
    const address = { connectionString: addressOf(settings), application_name: applicationName };
    const pool = new pg.Pool({
      ...address,
      max: poolSize,
      // Sends a statement without waiting for the results of earlier ones.
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
   * Runs `work` in one READ COMMITTED transaction, and again when Postgres rolled it back because of a deadlock, or because its clock was
   * set forward and its time limits seemed to be exceeded; at most 5 times in all. `work` must make no network calls.
   * @throws CodedError `unavailable` when the database is unreachable or overloaded (nothing happened); `outcome-unknown` when the
   * connection was lost or stalled during COMMIT
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, { useGenericPlans = false, limitMs }: TransactionOptions = {}): Promise<T> {
    const begin = useGenericPlans ? beginWithGenericPlans : 'BEGIN';
    const limited = (tx: Transaction): Promise<T> => {
      if (limitMs !== undefined) tx.send(limitStatements, [String(limitMs), String(lockLimitOf(limitMs))]);
      return work(tx);
    };
    return this.again(() => this.onConnection((connection) => runTransaction(connection, begin, limited, this.entities, this.logger)), limitMs);
  }

  /** Does something again that Postgres has rolled back, if that is safe and may help. */
  private async again<T>(work: () => Promise<T>, limitMs?: number): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const begun = performance.now();
      try {
        return await work();
      } catch (error) {
        const isWithinLimit = performance.now() - begun < limitOf(error, limitMs);
        if (!isRetryable(error) && !isWithinLimit) throw error;
        if (attempt >= attempts) throw unavailable('The database', error);
        this.logger.info({ attempt, err: error }, 'rolled back by a deadlock, or by a clock that was set forward; running it again');
      }
    }
  }

  /**
   * Returns the rows of a statement outside any transaction.
   * @throws CodedError `unavailable`; `outcome-unknown` when the connection was lost during a statement that may change rows, since it
   * is committed automatically
   */
  async query<Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): Promise<Row[]> {
    return (await this.run<Row>(statement, values)).rows;
  }

  /** Returns TypeORM's repository of an entity, outside any transaction. Its statements behave like those of `query`. */
  repository<Row extends ObjectLiteral>(entity: EntityClass<Row>): Repository<Row> {
    return repositoryOf(this.manager, entity);
  }

  private run<Row extends QueryResultRow>(statement: Statement | string, values: readonly unknown[] = []): Promise<QueryResult<Row>> {
    return this.again(() =>
      this.onConnection(async (connection) => {
        try {
          return await connection.query<Row>(toQuery(statement, values));
        } catch (error) {
          throw new Failed(onlyReads(statement) ? 'work' : 'commit', error, isConnectionError(error));
        }
      }),
    );
  }

  /** @throws CodedError `unavailable` */
  async check(): Promise<void> {
    await this.query('SELECT 1');
  }

  /** Runs pending migrations. Concurrent runs wait for each other. @returns the names of the migrations that it ran */
  async migrate(): Promise<string[]> {
    return Database.migrate(this.settings, this.logger);
  }

  /**
   * Runs pending migrations on a separate connection without the time limits of requests, since building an index may take long.
   * @param serviceRole the role that the service runs as, if it is not the one in `settings`
   */
  static async migrate(settings: DatabaseSettings, logger: Logger, serviceRole?: string): Promise<string[]> {
    // Imported here because TypeORM is large, and a running service does not need it.
    const { runMigrations } = await import('./migrations.js');
    return runMigrations(settings, logger, { extra: connectLimit, ...(serviceRole !== undefined && { serviceRole }) });
  }

  /**
   * Returns why this build cannot use the schema, such as pending migrations; undefined if it can. A service is not ready while there is
   * a fault, and its statements that fail because of it are `unavailable`.
   * @throws CodedError `unavailable`
   */
  schemaFault(): Promise<string | undefined> {
    return this.onConnection(async (connection) => {
      try {
        return await this.checkSchema(connection);
      } catch (error) {
        throw new Failed('work', error, isConnectionError(error));
      }
    });
  }

  /**
   * Returns why this is not a database of the mode in the settings; undefined if it is. Its schema must be complete.
   * @throws CodedError `unavailable`
   */
  async modeFault(): Promise<string | undefined> {
    const { sandbox } = this.settings;
    return sandbox === undefined ? undefined : modeFaultOf(onlyRow(await this.query<{ sandbox: boolean }>(readMode)).sandbox, sandbox);
  }

  private checkSchema(connection: WatchedConnection, suspicion?: { readonly suspect: true }): Promise<string | undefined> {
    return this.schema.check(async <Row extends QueryResultRow>(text: string) => (await connection.query<Row>(text)).rows, suspicion);
  }

  async close(): Promise<void> {
    if (!this.pool.ended) await this.pool.end();
    this.watch.stop();
  }

  get poolUse(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.pool;
    return { size: this.settings.poolSize, busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount, stalled: this.watch.dropped };
  }

  /** Runs `work` on a connection. Removes the connection from the pool if it was lost. */
  private async onConnection<T>(work: (connection: WatchedConnection) => Promise<T>): Promise<T> {
    const client = await this.takeClient();
    const connection = this.watch.of(client);
    let lost: Error | undefined;
    // Without a listener, the error of a lost connection would end the process.
    const onError = (error: Error): void => {
      lost ??= error;
    };
    client.on('error', onError);
    try {
      const result = await work(connection);
      connection.lastActiveAt = performance.now();
      return result;
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      if (error.isConnectionLost) lost ??= error;
      else if (isSchemaError(error.cause)) await this.throwSchemaFault(connection);
      // The server says why it ended the session before the driver finds it ended.
      throw translateDatabaseError(sqlStateOf(lost) === idleTimeout ? lost : error.cause, error.phase);
    } finally {
      client.off('error', onError);
      client.release(lost);
    }
  }

  /** Throws `unavailable` if a statement failed because of the schema's state. Uses its connection: the others may all wait for this. */
  private async throwSchemaFault(connection: WatchedConnection): Promise<void> {
    let fault: string | undefined;
    try {
      fault = await this.checkSchema(connection, { suspect: true });
    } catch (error) {
      throw translateDatabaseError(error, 'work');
    }
    if (fault !== undefined) throw unavailable('The database', new Error(fault));
  }

  private async takeClient(): Promise<PoolClient> {
    try {
      for (;;) {
        const client = await this.pool.connect();
        const connection = this.watch.of(client);
        if (!this.watch.isSuspect(connection)) return client;
        connection.close();
        client.release(true);
      }
    } catch (error) {
      throw translateDatabaseError(error, 'connect');
    }
  }
}

/** An error on a connection, with the phase in which it occurred. */
class Failed extends Error {
  constructor(
    readonly phase: DatabasePhase,
    override readonly cause: unknown,
    readonly isConnectionLost: boolean,
  ) {
    super('failed', { cause });
  }
}

/** Runs one attempt of a transaction. Pipelines BEGIN with the first statement, and COMMIT with the last ones that `send` sent. */
async function runTransaction<T>(
  connection: WatchedConnection,
  begin: string,
  work: (tx: Transaction) => Promise<T>,
  entities: Entities | undefined,
  logger: Logger,
): Promise<T> {
  let phase: DatabasePhase = 'work';
  let failure: unknown;
  /** The first failure of a statement whose caller waits, perhaps for a later statement first. */
  let refused: unknown;
  const run = <Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): Promise<QueryResult<Row>> => {
    const outcome = connection.query<Row>(toQuery(statement, values));
    outcome.catch((error: unknown) => {
      if (!isOfFailedTransaction(error)) refused ??= error;
    });
    return outcome;
  };
  const sent: Promise<unknown>[] = [];
  const later = <Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): (() => Row[]) => {
    let rows: Row[] | undefined;
    const outcome = connection.query<Row>(toQuery(statement, values));
    outcome.then(
      (result) => (rows = result.rows),
      (error: unknown) => {
        // Only a consequence of an earlier failure, which may reach its caller later: one read of the socket may contain both.
        if (!isOfFailedTransaction(error)) failure ??= error;
      },
    );
    sent.push(outcome);
    return () => {
      if (!rows) throw new Error('These rows are available only after the commit.');
      return rows;
    };
  };
  const send: Transaction['send'] = (statement, values) => void later(statement, values);
  try {
    send(begin);
    const result = await work(transactionOn(run, send, later, entities));
    phase = 'commit';
    send('COMMIT');
    const outcomes = await Promise.all(sent);
    const { command } = outcomes.at(-1) as { command: string };
    if (command !== 'COMMIT') throw new Error('Postgres rolled the transaction back, because a statement failed and its error was caught.');
    return result;
  } catch (error) {
    // The first failure is the cause; statements after it fail only because of it.
    const cause = failure ?? (isOfFailedTransaction(error) ? (refused ?? error) : error);
    throw new Failed(phase, cause, isConnectionError(cause) || !(await rollBack(connection, logger)));
  }
}

/** Rolls back. @returns whether it succeeded; if not, the connection cannot be used any more */
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
  run: <Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]) => Promise<QueryResult<Row>>,
  send: Transaction['send'],
  later: Transaction['later'],
  entities: Entities | undefined,
): Transaction {
  // Few transactions use an entity, so the manager is created at its first use.
  let manager: EntityManager | undefined;
  return {
    query: async <Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]) => (await run<Row>(statement, values)).rows,
    execute: async (statement, values) => (await run(statement, values)).rowCount ?? 0,
    send,
    later,
    repository: (entity) => {
      manager ??= entities?.manager(run, { inTransaction: true });
      return repositoryOf(manager, entity);
    },
  };
}

/** Creates the entities. Only a service that has some loads TypeORM, which takes 9 MB of memory and 0.1 s of CPU. */
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
  ...(values && { values: values.map((one) => (Array.isArray(one) ? listParameter(one) : one)) }),
});

/** Whether a statement only reads. A statement with WITH may contain an INSERT, so it does not count as reading. */
const onlyReads = (statement: Statement | string): boolean =>
  /^\s*(--[^\n]*\n\s*)*SELECT\b/i.test(typeof statement === 'string' ? statement : statement.text);

/**
 * Reads the database's clock. Call it after taking the locks: `now()` is the start of the transaction, which may be earlier than
 * a change that a lock waited for.
 */
export async function readClock(tx: Transaction): Promise<Date> {
  return onlyRow(await tx.query<{ at: Date }>({ name: 'clock', text: 'SELECT clock_timestamp() AS at' })).at;
}
