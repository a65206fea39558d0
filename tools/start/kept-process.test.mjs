import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { KeptProcess } from './kept-process.mjs';
import { sendSignal, stillRuns, until } from './processes.mjs';

/** @param {string} script @param {Partial<import('./kept-process.mjs').Keeping>} [keeping] */
function keep(script, keeping = {}) {
  return new KeptProcess({
    name: 'sample',
    stopSteps: [{ signal: 'SIGTERM', limitMs: 300 }],
    onEnd: () => true,
    launch: () => spawn(process.execPath, ['-e', script], { detached: true, stdio: 'ignore' }),
    ...keeping,
  });
}
const forEver = 'setInterval(() => {}, 1000)';

test('a process that is killed is started again, and its new mark is known', async () => {
  let ends = 0;
  const kept = keep(forEver, { onEnd: () => Boolean((ends += 1)) });
  kept.start();
  const first = kept.mark;
  assert.ok(first);
  sendSignal(first.pid, 'SIGKILL');
  assert.ok(await until(() => kept.mark !== undefined && kept.mark.pid !== first.pid, 5_000));
  await kept.stop();
  assert.equal(ends, 1);
});

test('stopping ends also a process that does not listen, and starts nothing again', async () => {
  const kept = keep(`process.on('SIGTERM', () => {}); ${forEver}`);
  kept.start();
  const { mark } = kept;
  assert.ok(stillRuns(mark));
  await kept.stop();
  assert.equal(stillRuns(mark), false);
  assert.equal(kept.mark, undefined);
});

test('a program that does not exist is an end like any other', async () => {
  const how = await new Promise((resolve) => {
    const launch = () => spawn('/no/such/program', { detached: true });
    keep('', { launch, onEnd: (end) => (resolve(end), false) }).start();
  });
  assert.match(how.error.message, /ENOENT/);
});
