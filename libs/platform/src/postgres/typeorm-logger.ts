import type { Logger as TypeOrmLogging } from 'typeorm';
import type { Logger } from '../logging.js';

/** TypeORM's own words as lines of our log. Statements and their parameters stay out of it: they hold people's data. */
export class TypeOrmLogger implements TypeOrmLogging {
  constructor(private readonly logger: Logger) {}

  logQuery(): void {
    // see the class
  }
  logQueryError(): void {
    // thrown as well, to whoever asked
  }
  logQuerySlow(): void {
    // measured by Postgres (pg_stat_statements)
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
