import { isPlainText, type Logger, serialisedLines } from '@plant-shop/platform/logging';

/** The fields of a request's line, in their order. */
export interface AccessLine {
  readonly method: string;
  /** Absent, like `operation`, if no route was found. */
  readonly route: string | undefined;
  readonly operation: string | undefined;
  readonly ms: number;
  readonly requestId: string;
  readonly subject: string | undefined;
  readonly status: number | 'aborted';
  /** While tracing is on. */
  readonly traceId?: string;
  readonly spanId?: string;
}

/**
 * Returns a function that logs a request. Lines of plain texts only are composed here, at a tenth of the cost of the logger, which has to
 * look for secrets in every field. The logger writes all others, and all while tracing is on.
 */
export function accessLines(logger: Logger): (line: AccessLine) => void {
  const write = serialisedLines(logger, 'request');
  if (!write) return (line) => logger.info(line, 'request');
  const plain = new KnownTexts();
  return (line) => {
    const { method, route, operation, ms, requestId, subject, status, traceId } = line;
    const isPlain =
      traceId === undefined &&
      plain.has(method) &&
      (route === undefined || plain.has(route)) &&
      (operation === undefined || plain.has(operation)) &&
      isPlainText(requestId) &&
      (subject === undefined || isPlainText(subject));
    if (!isPlain) {
      logger.info(line, 'request');
      return;
    }
    const where = `"method":"${method}"${member('route', route)}${member('operation', operation)}`;
    const code = status === 'aborted' ? '"aborted"' : status;
    write(`${where},"ms":${ms},"requestId":"${requestId}"${member('subject', subject)},"status":${code}`);
  };
}

const member = (name: string, text: string | undefined): string => (text === undefined ? '' : `,"${name}":"${text}"`);

/** Remembers which of the methods, routes and operations are plain. They are few: a request cannot add any. */
class KnownTexts {
  private readonly plain = new Set<string>();

  has(text: string): boolean {
    if (this.plain.has(text)) return true;
    if (!isPlainText(text)) return false;
    this.plain.add(text);
    return true;
  }
}
