import type pg from 'pg';
import { DataSource, DefaultNamingStrategy, type EntityManager, type Logger as TypeOrmLogging, QueryFailedError } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import { snakeCase } from 'typeorm/util/StringUtils.js';
import type { Logger } from '../logging.js';
import type { EntityClass } from './database.js';

/** Writes TypeORM's messages to our log. Leaves out statements and their parameters, which hold personal data. */
export class TypeOrmLogger implements TypeOrmLogging {
  constructor(private readonly logger: Logger) {}

  logQuery(): void {
    // Statements are never logged, see above.
  }
  logQueryError(): void {
    // The caller gets the error.
  }
  logQuerySlow(): void {
    // Postgres measures it (pg_stat_statements).
  }
  logSchemaBuild(message: string): void {
    this.logger.debug(message);
  }
  logMigration(message: string): void {
    this.logger.error(message);
  }
  log(level: 'log' | 'info' | 'warn', message: unknown): void {
    this.logger[level === 'warn' ? 'warn' : 'debug'](String(message));
  }
}

/** Sends one statement: all that TypeORM needs of a connection. */
export type SendStatement = (text: string, values?: unknown[]) => Promise<pg.QueryResult>;

/** TypeORM's data source on the pool of a `Database`. */
export class Entities {
  private constructor(private readonly dataSource: DataSource) {}

  static async on(pool: pg.Pool, entities: readonly EntityClass[], logger: Logger): Promise<Entities> {
    const dataSource = new DataSource({
      type: 'postgres',
      // Makes TypeORM use this pool instead of opening its own.
      driver: { Pool: givenPool(pool) },
      poolErrorHandler: () => undefined, // `Database` logs it
      entities: [...entities],
      namingStrategy: new SnakeCaseColumns(),
      installExtensions: false,
      logger: new TypeOrmLogger(logger),
    });
    return new Entities(await dataSource.initialize());
  }

  /** Returns a manager that sends its statements through `send`, and never begins or ends a transaction. */
  manager(send: SendStatement, { inTransaction }: { readonly inTransaction: boolean }): EntityManager {
    const runner = new BorrowedConnection(this.dataSource.driver as PostgresDriver, send, inTransaction);
    return (runner.manager = this.dataSource.createEntityManager(runner));
  }
}

/** A constructor that returns the given pool: TypeORM calls it with `new`. */
const givenPool = (pool: pg.Pool) =>
  function (): pg.Pool {
    return pool;
  };

/** Maps the property `createdAt` to the column `created_at`. */
class SnakeCaseColumns extends DefaultNamingStrategy {
  override columnName(property: string, given: string | undefined): string {
    return given ?? snakeCase(property);
  }
}

class BorrowedConnection extends PostgresQueryRunner {
  constructor(driver: PostgresDriver, send: SendStatement, inTransaction: boolean) {
    super(driver, 'master');
    this.databaseConnection = { query: send };
    // Otherwise TypeORM refuses row locks, and begins a transaction for `save` and `remove`.
    this.isTransactionActive = inTransaction;
  }

  /** Throws the driver's error instead of TypeORM's, which holds the statement's parameters and hides the error's class. */
  override query(...statement: Parameters<PostgresQueryRunner['query']>): ReturnType<PostgresQueryRunner['query']> {
    return super.query(...statement).catch((error: unknown) => {
      throw error instanceof QueryFailedError ? error.driverError : error;
    });
  }

  override startTransaction(): Promise<void> {
    return Promise.reject(new Error('Only Database.transaction begins a transaction.'));
  }
}
