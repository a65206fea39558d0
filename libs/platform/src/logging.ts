import type { LoggerService } from '@nestjs/common';
import { type Logger as PinoLogger, pino } from 'pino';

export type Logger = PinoLogger;

/** Names that must never reach a log, at the top of an entry or one or two objects down. */
const secretNames = ['password', 'secret', 'token', 'key', 'authorization', 'api_key', 'session_token', 'cookie', 'url'];
const redactedPaths = secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/** Connection strings carry passwords, and drivers put them into messages. */
const withoutCredentials = (message: string): string => message.replaceAll(/\/\/[^/@\s]*@/g, '//…@');

/**
 * One JSON line per event of interest on standard output: `time`, `level`, `service`, `msg` and fields.
 * Query strings are never logged: log a route, not a URL.
 */
export function createLogger(service: string, level: string): Logger {
  return pino({
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: redactedPaths, censor: '[redacted]' },
    serializers: {
      err: (error: unknown) => {
        if (!(error instanceof Error)) return String(error);
        const { code } = error as { code?: unknown };
        return {
          type: error.name,
          ...(typeof code === 'string' && { code }),
          message: withoutCredentials(error.message),
          stack: error.stack === undefined ? undefined : withoutCredentials(error.stack),
          ...(error.cause instanceof Error && { cause: withoutCredentials(error.cause.message) }),
        };
      },
    },
  });
}

/** Nest's own messages as fields of our log. Its start-up chatter (one line a module) goes to debug. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, context?: unknown): void {
    this.logger.debug({ context }, String(message));
  }
  warn(message: unknown, context?: unknown): void {
    this.logger.warn({ context }, String(message));
  }
  error(message: unknown, ...rest: unknown[]): void {
    const err = message instanceof Error ? message : rest.find((one) => one instanceof Error);
    this.logger.error({ err, context: rest.at(-1) }, message instanceof Error ? message.message : String(message));
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.error(message, ...rest);
  }
}
