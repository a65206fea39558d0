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

test('a killed process is restarted, and its mark is updated', async () => {
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

test('stopping also ends a process that ignores signals, and does not restart it', async () => {
  const kept = keep(`process.on('SIGTERM', () => {}); ${forEver}`);
  kept.start();
  const { mark } = kept;
  assert.ok(stillRuns(mark));
  await kept.stop();
  assert.equal(stillRuns(mark), false);
  assert.equal(kept.mark, undefined);
});

test('a program that does not exist is reported as an exit', async () => {
  const how = await new Promise((resolve) => {
    const launch = () => spawn('/no/such/program', { detached: true });
    keep('', { launch, onEnd: (end) => (resolve(end), false) }).start();
  });
  assert.match(how.error.message, /ENOENT/);
});
