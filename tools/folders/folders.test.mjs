import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../start/toolchain.mjs';

const apps = join(ROOT, 'apps');
const sourcesIn = (/** @type {string} */ folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts') && !/[.-]spec(\.fixture)?\.ts$/.test(file));

/** Returns the top-level folder, or file, of a service that contains a file. @param {string} file relative to the service's sources */
const partOf = (file) => file.split(sep)[0]?.replace(/\.[jt]s$/, '') ?? '';

/** Returns the parts of a service that each of its parts imports. @param {string} source @returns {Map<string, Set<string>>} */
function importsOf(source) {
  /** @type {Map<string, Set<string>>} */
  const imports = new Map();
  for (const file of sourcesIn(source)) {
    const from = partOf(file);
    const text = readFileSync(join(source, file), 'utf8');
    for (const [, path = ''] of text.matchAll(/(?:from|import\(|import) ?'(\.[^']+)'/g)) {
      const to = partOf(relative(source, normalize(join(source, dirname(file), path))));
      if (to !== '..' && to !== from) imports.set(from, (imports.get(from) ?? new Set()).add(to));
    }
  }
  return imports;
}

/** Returns a cycle of imports, if there is one. @param {Map<string, Set<string>>} imports @returns {string[] | undefined} */
function cycleIn(imports) {
  /** @type {Set<string>} */
  const done = new Set();
  /** @type {(part: string, path: string[]) => string[] | undefined} */
  const visit = (part, path) => {
    if (path.includes(part)) return [...path.slice(path.indexOf(part)), part];
    if (done.has(part)) return undefined;
    for (const next of imports.get(part) ?? []) {
      const cycle = visit(next, [...path, part]);
      if (cycle) return cycle;
    }
    done.add(part);
    return undefined;
  };
  for (const part of imports.keys()) {
    const cycle = visit(part, []);
    if (cycle) return cycle;
  }
  return undefined;
}

const services = readdirSync(apps).filter((name) => name !== 'console');
// Also checks the subfolders of these two folders.
for (const folder of [...services.map((name) => `${name}/src`), 'notifications/src/stream', 'notifications/src/webhooks']) {
  test(`no two folders of ${folder} import each other, directly or through others`, () => {
    const imports = importsOf(join(apps, folder));
    assert.ok(imports.size > 1);
    assert.equal(cycleIn(imports)?.join(' → '), undefined);
  });
}

test('an import cycle is found', () => {
  assert.deepEqual(cycleIn(new Map([['a', new Set(['b'])], ['b', new Set(['c', 'd'])], ['d', new Set(['b'])]])), ['b', 'd', 'b']);
});
