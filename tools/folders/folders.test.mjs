import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../start/toolchain.mjs';

const apps = join(ROOT, 'apps');
const sourcesIn = (/** @type {string} */ folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts') && !/[.-]spec(\.fixture)?\.ts$/.test(file));

/** Which folders of a service each of its folders imports. @param {string} source @returns {Map<string, Set<string>>} */
function importsOf(source) {
  /** @type {Map<string, Set<string>>} */
  const imports = new Map();
  for (const file of sourcesIn(source)) {
    const [from = '', ...rest] = file.split(sep);
    if (rest.length === 0) continue;
    const text = readFileSync(join(source, file), 'utf8');
    for (const [, path = ''] of text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)) {
      const [to = '', ...below] = relative(source, normalize(join(source, dirname(file), path))).split(sep);
      if (below.length === 0 || to === '..' || to === from) continue;
      imports.set(from, (imports.get(from) ?? new Set()).add(to));
    }
  }
  return imports;
}

/** A path of imports that leads from a folder back to it. @param {Map<string, Set<string>>} imports @returns {string[] | undefined} */
function cycleIn(imports) {
  /** @type {Set<string>} */
  const done = new Set();
  /** @type {(folder: string, path: string[]) => string[] | undefined} */
  const visit = (folder, path) => {
    if (path.includes(folder)) return [...path.slice(path.indexOf(folder)), folder];
    if (done.has(folder)) return undefined;
    for (const next of imports.get(folder) ?? []) {
      const cycle = visit(next, [...path, folder]);
      if (cycle) return cycle;
    }
    done.add(folder);
    return undefined;
  };
  for (const folder of imports.keys()) {
    const cycle = visit(folder, []);
    if (cycle) return cycle;
  }
  return undefined;
}

for (const app of readdirSync(apps).filter((name) => name !== 'console')) {
  test(`no two folders of ${app} import each other, directly or through others`, () => {
    const imports = importsOf(join(apps, app, 'src'));
    assert.ok(imports.size > 1);
    assert.equal(cycleIn(imports)?.join(' → '), undefined);
  });
}

test('a cycle is found', () => {
  assert.deepEqual(cycleIn(new Map([['a', new Set(['b'])], ['b', new Set(['c', 'd'])], ['d', new Set(['b'])]])), ['b', 'd', 'b']);
});
