import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../../tools/start/toolchain.mjs';

// The measurements replace NATS, Postgres and sockets, and so depend on what the services send to these.
for (const [what, args] of /** @type {const} */ ([['gateway', []], ['store', ['--store']]])) {
  test(`npm run bench -- --layers measures the ${what} (slow)`, () => {
    const table = execFileSync(process.execPath, [join(ROOT, 'tests/load/layers/main.mjs'), '--quick', ...args], { encoding: 'utf8', timeout: 120_000 });
    assert.match(table, new RegExp(`^${what}, .*\\d$`, 'm'));
  });
}
