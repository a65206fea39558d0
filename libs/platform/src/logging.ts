import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { tracing } from './telemetry/tracing.js';
import { errorFields, redacted, withoutCredentials } from './redaction.js';

export type Logger = PinoLogger;

/** Child loggers' bindings bypass pino's formatters, so pino's own redaction masks these names. */
const namesInBindings = ['password', 'secret', 'token', 'key', 'authorization', 'cookie', 'apiKey', 'api_key', 'url'];

const redactedFields = (fields: Record<string, unknown>): Record<string, unknown> =>
  redacted(fields) as Record<string, unknown>;

/** Adds an error's message as the text of a line without one. Pino would add it too, but unredacted. */
function withText(args: readonly unknown[]): unknown[] {
  const [first, ...rest] = args;
  if (rest.length > 0 || typeof first !== 'object' || first === null) return [...args];
  const error = first instanceof Error ? first : (first as { err?: unknown }).err;
  return error instanceof Error ? [first, error.message] : [...args];
}

let lastMs = NaN;
let lastTime = '';

/** Like pino's `isoTime`, but formats the time once per millisecond. */
function timeOfLine(): string {
  const now = Date.now();
  if (now !== lastMs) {
    lastMs = now;
    lastTime = `,"time":"${new Date(now).toISOString()}"`;
  }
  return lastTime;
}

/** Links a log line with its trace. */
function traceFields(): object {
  const span = tracing?.active;
  return span ? { traceId: span.traceId, spanId: span.spanId } : {};
}

/**
 * Creates a logger that writes one JSON line per event to standard output: `time`, `level`, `service`, `msg` and fields. It redacts
 * secrets by the names of their fields, and credentials in connection strings. Log a route rather than a URL: query strings must
 * never be logged.
 */
export function createLogger(service: string, level: string, destination: DestinationStream = standardOutput()): Logger {
  const logger = pino(
    {
      level,
      base: { service },
      timestamp: timeOfLine,
      formatters: { level: (label) => ({ level: label }), log: redactedFields },
      ...(tracing && { mixin: traceFields }),
      redact: { paths: namesInBindings, censor: '[redacted]' },
      // The formatter has already replaced errors among the fields by plain objects.
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
  if (!tracing) plainLoggers.set(logger, { service, destination });
  return logger;
}

/** Loggers that add nothing to an event's own fields except its level, time and service: no children, and none while tracing. */
const plainLoggers = new WeakMap<Logger, { readonly service: string; readonly destination: DestinationStream }>();

/**
 * Returns a function that writes the same line as `logger.info(fields, text)`, from fields that are JSON already: it neither redacts nor
 * escapes them, for a tenth of the cost. Check texts with `isPlainText`. Returns undefined for a logger that adds
 * fields of its own.
 */
export function serialisedLines(logger: Logger, text: string): ((members: string) => void) | undefined {
  const plain = plainLoggers.get(logger);
  if (!plain) return undefined;
  const { destination } = plain;
  const service = `,"service":${JSON.stringify(plain.service)}`;
  const end = `,"msg":${JSON.stringify(text)}}\n`;
  return (members) => {
    if (logger.isLevelEnabled('info')) destination.write(`{"level":"info"${timeOfLine()}${service},${members}${end}`);
  };
}

/** Whether redaction and JSON leave a text as it is: ids, routes, names and numbers, but no URL and no query string. */
export const isPlainText = (text: string): boolean => /^[\w.:/*-]*$/.test(text) && !text.includes('://');

const warn = 40;
const maxBufferedCharacters = 8_192;
const maxBufferedMs = 100;
let output: BufferedOutput | undefined;

const standardOutput = (): DestinationStream => (output ??= new BufferedOutput());

/**
 * Buffers lines, since one system call per line would cost a request more than composing the line. A warning or worse flushes the
 * buffer at once; a process that is killed loses the other lines of its last 100 ms. Pino's own buffering is slower: it counts the
 * bytes of its whole buffer with each line.
 */
class BufferedOutput implements DestinationStream {
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
    if (this.lines.length >= maxBufferedCharacters) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), maxBufferedMs).unref();
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.lines !== '') this.out.write(this.lines);
    this.lines = '';
  }
}

/** Writes Nest's messages to our log. Its start-up messages (one line per module) have level debug. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.logger.debug({ context: rest.at(-1) }, textOf(message));
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.logger.warn({ context: rest.at(-1) }, textOf(message));
  }
  /** Nest passes the stack as a text before the context. */
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
