import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ORDER, Shutdown, StopRequest, together } from './shutdown.mjs';

test('services stop before NATS, NATS before Postgres, the lock last, regardless of the order of the start', async () => {
  /** @type {string[]} */
  const ended = [];
  const shutdown = new Shutdown(ORDER, () => {});
  for (const step of /** @type {const} */ (['lock', 'Postgres', 'services', 'run file', 'NATS'])) shutdown.add(step, () => ended.push(step));
  assert.equal(await shutdown.run(), true);
  assert.deepEqual(ended, ['services', 'NATS', 'Postgres', 'run file', 'lock']);
});

test('a step waits for the previous one; a failing step is reported, and the others still run', async () => {
  /** @type {string[]} */
  const events = [];
  const shutdown = new Shutdown(ORDER, (step) => events.push(`${step} failed`));
  shutdown.add('services', async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    throw new Error('would not end');
  });
  shutdown.add('Postgres', () => events.push('Postgres'));
  assert.equal(await shutdown.run(), false);
  assert.deepEqual(events, ['services failed', 'Postgres']);
});

test('every part of a step is stopped, even if one of them fails', async () => {
  /** @type {string[]} */
  const events = [];
  const shutdown = new Shutdown(ORDER, (step) => events.push(`${step} failed`));
  shutdown.add('NATS', () => Promise.reject(new Error('would not end')));
  shutdown.add('services', () => events.push('one shop'));
  shutdown.add('services', () => events.push('another shop'));
  shutdown.add('NATS', () => events.push('NATS'));
  assert.equal(await shutdown.run(), false);
  assert.deepEqual(events, ['one shop', 'another shop', 'NATS failed', 'NATS']);
});

test('a second shutdown stops nothing again', async () => {
  let times = 0;
  const shutdown = new Shutdown(ORDER, () => {});
  shutdown.add('NATS', () => (times += 1));
  await Promise.all([shutdown.run(), shutdown.run()]);
  assert.equal(times, 1);
});

test('when a task fails, the others are aborted and awaited, and its error is thrown', async () => {
  const stop = new AbortController();
  let waited = false;
  const other = new Promise((_, reject) => {
    stop.signal.addEventListener('abort', () => setTimeout(() => {
      waited = true;
      reject(stop.signal.reason);
    }, 20));
  });
  await assert.rejects(together(stop, [Promise.reject(new Error('first')), other]), { message: 'first' });
  assert.equal(waited, true);
});

test('a stop request is thrown instead of the errors of the tasks that it interrupts', async () => {
  const stop = new AbortController();
  const task = new Promise((_, reject) => stop.signal.addEventListener('abort', () => reject(new Error('killed'))));
  setTimeout(() => stop.abort(new StopRequest('stopped by SIGTERM')), 5);
  await assert.rejects(together(stop, [task]), StopRequest);
});
