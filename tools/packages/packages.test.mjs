import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, join, relative } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';
import { filesBelow, packageFolders } from '../start/stamp.mjs';
import { ROOT } from '../start/toolchain.mjs';

/** The only package that sources may import from the root: the root's Jest runs all tests, and this is its interface. */
const FROM_ROOT = '@jest/globals';

/** Development dependencies that are not imported, with the reason, in the order of package.json. @type {Record<string, Record<string, string>>} */
const NOT_IMPORTED = {
  'libs/platform': {
    '@types/node': 'the image build installs no packages of the root',
    'typescript-7': 'the image build installs no packages of the root',
  },
  'tests/acceptance': { '@redocly/cli': 'a command of tools/release' },
  'tests/deploy': { '@arethetypeswrong/cli': 'a command of artefacts/client.test.mjs' },
};

/** Packages without production dependencies: Vite bundles the console's, and tests have no production. @param {string} name */
const isDevelopment = (name) => name === 'apps/console' || name.startsWith('tests/');

/** Others are tests, their helpers, examples, and scripts beside the sources. @param {string} file relative to its package */
const isProduction = (file) => file.startsWith('src/') && !/[.-](spec|fixture|fake|example)\./.test(basename(file));

/** Returns the packages that a source imports, also for types, or resolves by name. @param {string} text @returns {string[]} */
function packagesIn(text) {
  const imported = ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName);
  // In JSDoc, and by `require('…')`, `require.resolve('…')` or `createRequire(import.meta.url)('…')`.
  const calls = /(?:\{[^}\n]*import\(|\b(?:require|import\.meta)\.resolve\(|[^.\w]require\(|import\.meta\.url\)\()['`]([^'`\n]+)/g;
  const resolved = [...text.matchAll(calls)].map(([, name = '']) => name);
  const packages = [...imported, ...resolved].filter((name) => /^(@[a-z]|[a-z])/.test(name) && !isBuiltin(name));
  return packages.map((name) => name.split('/').slice(0, name.startsWith('@') ? 2 : 1).join('/'));
}

for (const folder of packageFolders(ROOT)) {
  const name = relative(ROOT, folder);
  test(`${name} declares the packages that it imports, and no others`, () => {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    /** @type {Set<string>} */
    const production = new Set();
    /** @type {Set<string>} */
    const development = new Set();
    for (const path of filesBelow(folder, /\.(tsx?|mts|mjs|cjs|js)$/)) {
      const imports = isProduction(relative(folder, path)) && !isDevelopment(name) ? production : development;
      for (const found of packagesIn(readFileSync(path, 'utf8'))) if (found !== FROM_ROOT && found !== manifest.name) imports.add(found);
    }
    const imported = new Set([...production, ...development]);
    const { dependencies = {}, devDependencies = {} } = manifest;
    const exceptions = Object.keys(NOT_IMPORTED[name] ?? {});

    assert.deepEqual([...production].filter((one) => !(one in dependencies)), [], 'imported in production, but not in dependencies');
    assert.deepEqual([...development].filter((one) => !(one in dependencies || one in devDependencies)), [], 'imported, but not declared');
    assert.deepEqual(Object.keys(dependencies).filter((one) => !production.has(one)), [], 'in dependencies, but not imported in production');
    const unused = Object.keys(devDependencies).filter((one) => !imported.has(one.replace(/^@types\//, '')));
    assert.deepEqual(unused, exceptions, 'in devDependencies, but not imported');
  });
}

test('Nest and TypeORM exist once, so that a class of theirs is the same in all packages', () => {
  const lock = readFileSync(join(ROOT, 'pnpm-lock.yaml'), 'utf8');
  const snapshots = lock.slice(lock.indexOf('\nsnapshots:')).matchAll(/^ {2}'?(@nestjs\/[a-z-]+|typeorm)@/gm);
  const names = [...snapshots].map(([, name = '']) => name);
  assert.ok(names.includes('@nestjs/common') && names.includes('typeorm'));
  assert.deepEqual(names, [...new Set(names)]);
});

test('imports are found in code and JSDoc, but not in texts', () => {
  const text = [
    `import { Client } from 'pg';`, `import type { A } from '@scope/a/b';`, `export * from './own.js';`, `import 'node:fs';`, `await import('c');`,
    `/** @type {import('d').D} */`, `require.resolve('e/f');`, `const h = require('h');`, `this.require('i')`, `const text = "from 'g'";`, 'const program = `import j from \'j\'`;',
  ].join('\n');
  assert.deepEqual(packagesIn(text).sort(), ['@scope/a', 'c', 'd', 'e', 'h', 'pg']);
});
