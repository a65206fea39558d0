// Part of `npm run nightly`: two builds of a commit give the same files, so anyone can check what an image was built from.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { buildArtefacts } from './images.mjs';

const folder = mkdtempSync(join(tmpdir(), 'plant-shop-build-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** What an image's layers contain, except for times. */
async function built() {
  const place = join(folder, 'build');
  await buildArtefacts(place, { env: process.env, signal: AbortSignal.timeout(900_000) });
  const files = readdirSync(place, { recursive: true, encoding: 'utf8' }).sort().map((name) => {
    const path = join(place, name);
    const about = lstatSync(path);
    const content = about.isSymbolicLink() ? readlinkSync(path) : about.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
    return `${name} ${about.mode.toString(8)} ${content}`;
  });
  rmSync(place, { recursive: true });
  return files;
}

test('two builds of the images have the same content', { timeout: 1_800_000 }, async () => {
  const [first, second] = [await built(), new Set(await built())];
  assert.ok(first.length > 10_000, `${first.length} files`);
  assert.deepEqual([second.size, first.filter((file) => !second.has(file)).slice(0, 10)], [first.length, []]);
});
