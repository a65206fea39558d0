import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { tracing } from './telemetry/tracing.js';
import { errorFields, redacted, withoutCredentials } from './redaction.js';

export type Logger = PinoLogger;

/** Children's bindings pass by pino's formatters, so their names are given once more to pino's own redaction. */
const namesInBindings = ['password', 'secret', 'token', 'key', 'authorization', 'cookie', 'apiKey', 'api_key', 'url'];

const redactedFields = (fields: Record<string, unknown>): Record<string, unknown> =>
  redacted(fields) as Record<string, unknown>;

/** Pino writes an error's own text as `msg` where none is given: ours is written first. */
function withText(args: readonly unknown[]): unknown[] {
  const [first, ...rest] = args;
  if (rest.length > 0 || typeof first !== 'object' || first === null) return [...args];
  const error = first instanceof Error ? first : (first as { err?: unknown }).err;
  return error instanceof Error ? [first, error.message] : [...args];
}

let lastMs = NaN;
let lastTime = '';

/** As pino's own `isoTime`, made once for all lines of a millisecond. */
function timeOfLine(): string {
  const now = Date.now();
  if (now !== lastMs) {
    lastMs = now;
    lastTime = `,"time":"${new Date(now).toISOString()}"`;
  }
  return lastTime;
}

/** By it, the lines of a request are found from its trace, and the other way round. */
function placeInTrace(): object {
  const span = tracing?.active;
  return span ? { traceId: span.traceId, spanId: span.spanId } : {};
}

/**
 * One JSON line per event of interest on standard output: `time`, `level`, `service`, `msg` and fields. Secrets are
 * taken out by the names of fields, connection strings by their look. Query strings are never logged: log a route, not a
 * URL.
 */
export function createLogger(service: string, level: string, destination: DestinationStream = standardOutput()): Logger {
  return pino(
    {
      level,
      base: { service },
      timestamp: timeOfLine,
      formatters: { level: (label) => ({ level: label }), log: redactedFields },
      ...(tracing && { mixin: placeInTrace }),
      redact: { paths: namesInBindings, censor: '[redacted]' },
      // The formatter has seen to errors before; pino's own serializer would only find plain objects.
      serializers: { err: (error: unknown) => (error instanceof Error ? errorFields(error) : error) },
      hooks: {
        logMethod(args, method, levelNumber) {
          const texts = withText(args).map((one) => (typeof one === 'string' ? withoutCredentials(one) : one));
          method.apply(this, texts as typeof args);
          if (levelNumber >= warn) output?.flush();
        },
      },
    },
    destination,
  );
}

const warn = 40;
const gatheredCharacters = 8_192;
const gatheredMs = 100;
let output: GatheredLines | undefined;

const standardOutput = (): DestinationStream => (output ??= new GatheredLines());

/**
 * Lines are written some at a time: a system call for each would cost a request more than composing it. What is a warning or
 * worse is written at once with all before it; of the rest, a process that is killed takes its last tenth of a second along.
 * They are gathered here and not by the library's stream, which counts the bytes of all that it holds with each line.
 */
class GatheredLines implements DestinationStream {
  private readonly out = pino.destination({ dest: 1, sync: true });
  private lines = '';
  private timer: NodeJS.Timeout | undefined;

  constructor() {
    process.on('exit', () => {
      this.flush();
      this.out.flushSync();
    });
  }

  write(line: string): void {
    this.lines += line;
    if (this.lines.length >= gatheredCharacters) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), gatheredMs).unref();
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.lines !== '') this.out.write(this.lines);
    this.lines = '';
  }
}

/** Nest's own messages as fields of our log. Its start-up chatter (one line a module) goes to debug. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.logger.debug({ context: rest.at(-1) }, textOf(message));
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.logger.warn({ context: rest.at(-1) }, textOf(message));
  }
  /** Nest gives the stack as a text of its own before the context. */
  error(message: unknown, ...rest: unknown[]): void {
    const err = [message, ...rest].find((one) => one instanceof Error);
    const stack = rest.length > 1 && typeof rest[0] === 'string' ? rest[0] : undefined;
    this.logger.error({ err, stack, context: rest.at(-1) }, textOf(message));
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.error(message, ...rest);
  }
}

function textOf(message: unknown): string {
  if (message instanceof Error) return message.message;
  return typeof message === 'string' ? message : JSON.stringify(message);
}
