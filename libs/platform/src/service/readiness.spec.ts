import { describe, expect, it } from '@jest/globals';
import { unavailable } from '../errors.js';
import { Readiness } from './readiness.js';

describe('a process', () => {
  it('is ready when every check passes', async () => {
    const readiness = new Readiness();
    readiness.require('nats', () => undefined);
    readiness.require('database', async () => undefined);
    await expect(readiness.report()).resolves.toEqual({ ready: true, checks: { nats: 'ok', database: 'ok' } });
  });

  it('is not ready while a check fails, and reports which one and why', async () => {
    const readiness = new Readiness();
    readiness.require('nats', () => {
      throw new Error('not connected');
    });
    readiness.require('database', () => Promise.reject(unavailable('The database', new Error('connect ECONNREFUSED'))));
    readiness.require('start', () => undefined);
    await expect(readiness.report()).resolves.toEqual({
      ready: false,
      checks: { nats: 'not connected', database: 'connect ECONNREFUSED', start: 'ok' },
    });
  });

  it('is not ready while a check does not answer', async () => {
    const readiness = new Readiness({ limitMs: 20 });
    readiness.require('database', () => new Promise(() => undefined));
    await expect(readiness.report()).resolves.toEqual({ ready: false, checks: { database: 'no answer in 20 ms' } });
  });

  it('is not ready any more once it drains', async () => {
    const readiness = new Readiness();
    readiness.require('nats', () => undefined);
    readiness.drain();
    await expect(readiness.report()).resolves.toEqual({ ready: false, checks: { nats: 'ok', shutdown: 'draining' } });
  });

  it('without capacity is not ready for more clients, but otherwise ready', async () => {
    const readiness = new Readiness();
    readiness.require('nats', () => undefined);
    readiness.requireCapacity('room', () => {
      throw new Error('full');
    });
    await expect(readiness.report({ includeCapacity: true })).resolves.toEqual({ ready: false, checks: { nats: 'ok', room: 'full' } });
    await expect(readiness.report()).resolves.toEqual({ ready: true, checks: { nats: 'ok' } });
  });

  it('does not report the credentials of a connection string', async () => {
    const readiness = new Readiness();
    readiness.require('database', () => Promise.reject(new Error('cannot reach postgres://user:canary@host/db')));
    expect(JSON.stringify(await readiness.report())).not.toContain('canary');
  });
});
