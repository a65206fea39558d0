import type { Logger as TypeOrmLogging } from 'typeorm';
import type { Logger } from '../logging.js';

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
