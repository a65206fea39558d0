import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

test('waiting outputs are printed whole, in the order in which they end, and once', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-shop-output-'));
  try {
    const script = `
      import { WaitingOutput } from ${JSON.stringify(new URL('output.mjs', import.meta.url).href)};
      const waiting = new WaitingOutput();
      const [long, short] = ['long', 'short'].map((name) => waiting.open(${JSON.stringify(folder)} + '/' + name));
      long.say('long begins');
      short.say('short begins');
      short.say('short ends');
      short.end();
      waiting.show();
      long.say('long ends');
      long.end();
      waiting.show();
      waiting.show();`;
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
    assert.equal(printed, 'short begins\nshort ends\nlong begins\nlong ends\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
