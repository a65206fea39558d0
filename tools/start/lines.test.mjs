import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { onLines } from './lines.mjs';

test('lines are the same for all chunk boundaries, even inside a character; the last needs no newline', async () => {
  const stream = new PassThrough();
  /** @type {string[][]} */
  const taken = [];
  onLines(stream, (lines) => taken.push(lines));
  const sprout = Buffer.from('🌱');
  for (const part of ['a\nb\nc', 'c\n', Buffer.concat([sprout.subarray(0, 2)]), sprout.subarray(2), '\nend']) stream.write(part);
  stream.end();
  await new Promise((resolve) => stream.once('end', resolve));
  assert.deepEqual(taken, [['a', 'b'], ['cc'], ['🌱'], ['end']]);
});
