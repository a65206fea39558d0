import { describe, expect, it } from '@jest/globals';
import { createLogger, type Logger, NestLogger } from './logging.js';

interface Line {
  readonly [field: string]: unknown;
  readonly msg?: string;
}

function captured(log: (logger: Logger) => void, level = 'debug'): { lines: Line[]; text: string } {
  const written: string[] = [];
  log(createLogger('store', level, { write: (line: string) => void written.push(line) }));
  return { lines: written.map((line) => JSON.parse(line) as Line), text: written.join('') };
}

const canary = 'canary-7f3a';

describe('the log', () => {
  it('is one JSON line per event, with time, level, service, fields and text', () => {
    const { lines } = captured((log) => log.info({ rpc: 'store.placeOrder', ms: 3 }, 'answered'));
    expect(lines).toEqual([
      { level: 'info', time: expect.stringMatching(/^\d{4}-.*Z$/), service: 'store', rpc: 'store.placeOrder', ms: 3, msg: 'answered' },
    ]);
  });

  it('leaves out events below its level', () => {
    expect(captured((log) => log.debug('x'), 'info').lines).toEqual([]);
  });

  it.each([
    'password', 'newPassword', 'DB_PASSWORD', 'passwd', 'secret', 'clientSecret', 'token', 'accessToken', 'session_token',
    'key', 'apiKey', 'api_key', 'api-key', 'authorization', 'Authorization', 'cookie', 'set-cookie', 'url', 'uri', 'privateKey',
  ])('never shows %s, at any depth', (name) => {
    const { text, lines } = captured((log) => {
      log.info({ [name]: canary }, 'top');
      log.info({ a: { b: { c: { [name]: canary } } } }, 'deep');
      log.info({ list: [{ [name]: [canary] }] }, 'in a list');
    });
    expect(lines).toHaveLength(3);
    expect(text).not.toContain(canary);
    expect(text).toContain('[redacted]');
  });

  it('never shows the credentials of a connection string, in any part of a line', () => {
    const strings = [`postgres://user:${canary}@host/db`, `nats://${canary}@host:4222`, `postgres://u:a/${canary}@b@host/db`];
    for (const one of strings) {
      const { text } = captured((log) => {
        log.info(`connecting to ${one}`);
        log.info({ target: one }, 'field');
        log.warn('format %s', one);
        log.error({ err: new Error(`cannot reach ${one}`, { cause: new Error(one) }) });
        log.error({ err: new Error(`cannot reach ${one}`) }, 'with text');
        log.error(new Error(one));
      });
      expect(text).toContain('host');
      expect(text).not.toContain(canary);
    }
  });

  it('never shows a secret from a query string in a text', () => {
    const { text } = captured((log) => log.warn(`GET /v3/user/login?username=a&password=${canary}&api_key=${canary}`));
    expect(text).not.toContain(canary);
  });

  it('never shows a secret that a child logger was bound to', () => {
    const { text } = captured((log) => log.child({ apiKey: canary, token: canary, password: canary }).info('x'));
    expect(text).not.toContain(canary);
  });

  it('shows the code, text, stack and cause of an error, but none of the members that drivers add', () => {
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const err = Object.assign(new Error('it failed', { cause }), { code: '23505', detail: canary, parameters: [canary] });
    const { lines, text } = captured((log) => log.error({ err }, 'failed'));
    expect(lines[0]).toMatchObject({
      err: { type: 'Error', code: '23505', message: 'it failed', stack: expect.any(String), cause: 'ECONNREFUSED: refused' },
      msg: 'failed',
    });
    expect(text).not.toContain(canary);
  });

  it('shows errors in any field, and all errors of an aggregate', () => {
    const both = new AggregateError([new Error('first'), new Error('second')], '');
    const { lines } = captured((log) => log.error({ failure: new Error('x'), err: both }, 'failed'));
    expect(lines[0]).toMatchObject({ failure: { message: 'x' }, err: { errors: ['first', 'second'] } });
  });

  it('accepts any field: cycles, bytes, big integers, dates', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    const { lines } = captured((log) => log.info({ cycle, bytes: Buffer.alloc(9), big: 2n ** 70n, at: new Date(0) }, 'x'));
    expect(lines[0]).toMatchObject({ bytes: '9 bytes', big: String(2n ** 70n), at: '1970-01-01T00:00:00.000Z' });
  });
});

describe("Nest's messages", () => {
  it('have level debug, except for warnings and errors', () => {
    const { lines } = captured((log) => {
      const nest = new NestLogger(log);
      nest.log('mapped', 'Router');
      nest.warn('careful', 'Router');
      nest.error('failed', 'Error: failed\n  at x', 'Handler');
      nest.fatal(new Error('gone'));
    });
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      ['debug', 'mapped'],
      ['warn', 'careful'],
      ['error', 'failed'],
      ['error', 'gone'],
    ]);
    expect(lines[2]).toMatchObject({ context: 'Handler', stack: expect.stringContaining('at x') });
    expect(lines[3]).toMatchObject({ err: { message: 'gone' } });
  });
});
