import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const site = new URL('../../../apps/console/dist/site/', import.meta.url);

/** Returns the compressed size of each file that a browser loads before the Today page shows its numbers. @returns {Record<string, number>} bytes by file */
export function firstLoad() {
  const index = readFileSync(new URL('index.html', site), 'utf8');
  const files = [...index.matchAll(/(?:href|src)="\/console\/([^"]+)"/g)].map(([, path = '']) => path);
  assert.ok(files.some((file) => file.endsWith('.js')) && files.some((file) => file.endsWith('.css')));
  // The first page is a separate chunk.
  return Object.fromEntries([...files, ...chunksOf('today-page')].map((file) => [file, gzipSync(readFileSync(new URL(file, site))).length]));
}

/** @param {Record<string, number>} sizes */
export const total = (sizes) => Object.values(sizes).reduce((sum, one) => sum + one, 0);

/** A page's chunk and its static imports. @param {string} name @returns {string[]} */
function chunksOf(name) {
  const main = /src="\/console\/(assets\/index-[^"]+\.js)"/.exec(readFileSync(new URL('index.html', site), 'utf8'))?.[1] ?? '';
  const file = new RegExp(`assets/${name}-[\\w-]+\\.js`).exec(readFileSync(new URL(main, site), 'utf8'))?.[0];
  assert.ok(file, `the main file imports ${name}`);
  const found = new Set([file]);
  for (const one of found) {
    for (const [, imported = ''] of readFileSync(new URL(one, site), 'utf8').matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) {
      if (`assets/${imported}` !== main) found.add(`assets/${imported}`);
    }
  }
  return [...found];
}
