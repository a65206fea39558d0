import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLogger, type Logger } from '@plant-shop/platform/logging';
import { type AccessLine, accessLines } from './access-log.js';

const line: AccessLine = {
  method: 'GET',
  route: '/v3/plant/:plantId',
  operation: 'getPlant',
  ms: 1.23,
  requestId: 'c0ffee00-0000-4000-8000-000000000001',
  subject: '00000000-0000-4000-8000-000000000001',
  by: 'session:00000000-0000-4000-8000-000000000002',
  status: 200,
};

function linesOf(log: (logger: Logger) => void, level = 'info'): string[] {
  const lines: string[] = [];
  log(createLogger('gateway', level, { write: (text: string) => void lines.push(text) }));
  return lines;
}

describe('the line of a request', () => {
  beforeEach(() => void jest.useFakeTimers({ now: 1_800_000_000_123 }));
  afterEach(() => void jest.useRealTimers());

  it.each<[string, AccessLine]>([
    ['an answer', line],
    ['an aborted request', { ...line, status: 'aborted' }],
    ['an anonymous request', { ...line, subject: undefined, by: undefined }],
    ['a path without a route', { ...line, route: undefined, operation: undefined, subject: undefined, status: 404 }],
    ['a method that the path lacks', { ...line, operation: undefined, status: 405 }],
    ['whole milliseconds', { ...line, ms: 12 }],
    ['no time at all', { ...line, ms: 0 }],
    ["a client's request id", { ...line, requestId: 'abc-1._Z' }],
    ['a wildcard', { ...line, route: '/console/*' }],
    ['a quotation mark in an id', { ...line, requestId: 'a"b\\' }],
    ['a line break in an id', { ...line, subject: 'a\nb' }],
    ['several credentials', { ...line, by: 'session:a apiKey:b' }],
    ['letters beyond ASCII', { ...line, subject: 'Jürgen' }],
    ['a query string in a route', { ...line, route: '/v3/user/login?password=x' }],
    ['a URL with a password as a route', { ...line, route: 'http://a:b@c/' }],
    ['a trace', { ...line, traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }],
  ])("has the bytes of the logger's own line: %s", (_, fields) => {
    const expected = linesOf((logger) => logger.info(fields, 'request'));
    const lines = linesOf((logger) => {
      const log = accessLines(logger);
      log(fields);
      // Finds its texts known.
      log(fields);
    });
    expect(lines).toEqual([...expected, ...expected]);
  });

  it.each(['password=canary', 'postgres://user:canary@host/'])('never has a secret in any of its texts: %s', (text) => {
    const all = (['method', 'route', 'operation', 'requestId', 'subject', 'by'] as const).map((name) => ({ ...line, [name]: text }));
    const lines = linesOf((logger) => all.forEach(accessLines(logger)));
    expect(lines).toHaveLength(6);
    expect(lines.join('')).not.toContain('canary');
  });

  it('is not written below its level', () => {
    expect(linesOf((logger) => accessLines(logger)(line), 'warn')).toEqual([]);
  });

  it("has a child logger's fields", () => {
    const lines = linesOf((logger) => accessLines(logger.child({ host: 'a' }))(line));
    expect(JSON.parse(lines[0]!)).toMatchObject({ host: 'a', operation: 'getPlant' });
  });
});
