import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { ROOT } from '../../../tools/start/toolchain.mjs';
import { at, emptyFolder, installClient, PROGRAM, runOn } from './installed-client.mjs';

// Tests @plant-shop/client as users get it: packed, installed into an empty folder, used with several versions of Node and
// TypeScript, and bundled for browsers.

const require = createRequire(import.meta.url);
const { packageManager } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const PACKAGE = join(ROOT, 'libs/client');
const README = readFileSync(join(PACKAGE, 'README.md'), 'utf8');
/** The limits that the package promises. */
const BROWSER_LIMIT = 15_000;

const folder = mkdtempSync(join(tmpdir(), 'plant-shop-client-'));
/** @type {string} */
let tarball;

/** @param {string} name of a dev dependency @param {string} path of its command */
const tool = (name, path) => join(dirname(require.resolve(`${name}/package.json`)), path);

before(async () => void (tarball = await installClient(folder)), { timeout: 120_000 });

after(() => rmSync(folder, { recursive: true, force: true }));

test('contains the build, README and licence, without tests and source files', () => {
  const files = readdirSync(join(folder, 'npm/node_modules/@plant-shop/client'), { recursive: true }).map(String);
  assert.ok(files.includes('dist/index.js') && files.includes('dist/webhooks.d.ts') && files.includes('README.md'));
  assert.deepEqual(files.filter((name) => /spec|fixture|^src/.test(name)), []);
  const licence = readFileSync(join(folder, 'npm/node_modules/@plant-shop/client/LICENSE'), 'utf8');
  assert.equal(licence, readFileSync(join(ROOT, 'LICENSE'), 'utf8'));
});

test('has what its source maps and its README link to', () => {
  const place = join(folder, 'npm/node_modules/@plant-shop/client');
  const links = [...README.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^https?:/.test(link));
  assert.ok(links.length > 3);
  for (const link of links) assert.ok(existsSync(join(place, link)), link);
  const built = readdirSync(join(place, 'dist'), { recursive: true }).map(String);
  for (const name of built.filter((one) => /\.(js|d\.ts)$/.test(one))) {
    const [, map] = /^\/\/# sourceMappingURL=(.+)$/m.exec(readFileSync(join(place, 'dist', name), 'utf8')) ?? [];
    assert.equal(map !== undefined, name.endsWith('.js'), name);
    if (map === undefined) continue;
    const { sources, sourcesContent } = JSON.parse(readFileSync(join(place, 'dist', dirname(name), map), 'utf8'));
    assert.ok(sources.length > 0 && sourcesContent.length === sources.length && sourcesContent.every(Boolean), name);
  }
});

test('exports no `any`', () => {
  const types = join(folder, 'npm/node_modules/@plant-shop/client/dist');
  for (const name of readdirSync(types, { recursive: true }).map(String).filter((one) => one.endsWith('.d.ts'))) {
    assert.doesNotMatch(readFileSync(join(types, name), 'utf8').replaceAll(/\/\*.*?\*\//gs, ''), /\bany\b/, name);
  }
});

test('publint and attw find nothing', async () => {
  const { publint } = await import('publint');
  const { messages } = await publint({ pkgDir: join(folder, 'npm/node_modules/@plant-shop/client'), strict: true, pack: false });
  assert.deepEqual(messages, []);
  await at(process.execPath, [tool('@arethetypeswrong/cli', 'dist/index.js'), tarball, '--profile', 'esm-only', '--no-emoji'], folder);
});

// `npm run nightly` runs it on the versions between this one and the pinned Node, which the next test runs on.
test('runs on the oldest Node that it supports, also from CommonJS', { timeout: 240_000 }, () => runOn('20.20.2', folder));

test('is installed by pnpm as well', { timeout: 120_000 }, async () => {
  const place = emptyFolder(join(folder, 'pnpm'));
  await at('npx', ['--yes', packageManager, 'add', tarball], place);
  writeFileSync(join(place, 'program.mjs'), PROGRAM);
  assert.match(await at(process.execPath, ['program.mjs'], place), new RegExp(process.version));
});

for (const [name, path] of /** @type {const} */ ([['typescript-6', join(ROOT, 'node_modules/typescript/bin/tsc')], ['typescript-7', join(ROOT, 'node_modules/typescript-7/bin/tsc')]])) {
  for (const [module, resolution] of /** @type {const} */ ([['nodenext', 'nodenext'], ['esnext', 'bundler']])) {
    test(`its types compile the README with ${name}, module resolution ${resolution}`, { timeout: 120_000 }, async () => {
      const place = join(folder, 'npm', `${name}-${resolution}`);
      mkdirSync(place);
      const code = [...README.matchAll(/^```js\n(.*?)^```$/gms)].map(([, block]) => block).join('\n');
      const checks = `
// @ts-expect-error -- there is no such path
void shop.GET('/store/orders');
// @ts-expect-error -- the member has another name
void shop.POST('/store/order', { body: { plant: 1 } });
// @ts-expect-error -- of a list without pages
shop.list('/user/{username}/apiKeys');
const status: 'placed' | 'approved' | 'delivered' | 'cancelled' = read.status;
void status;
`;
      writeFileSync(join(place, 'readme.ts'), code + checks);
      if (module === 'nodenext') writeFileSync(join(place, 'common.cts'), `import { createShop } from '@plant-shop/client';\nexport const url = (): string => String(createShop({ url: 'http://shop' }).orders);\n`);
      const compilerOptions = { strict: true, noEmit: true, target: 'es2022', lib: ['es2023', 'dom'], module, moduleResolution: resolution, skipLibCheck: false, types: [] };
      writeFileSync(join(place, 'env.d.ts'), 'declare const process: { readonly env: Record<string, string | undefined> };\n');
      writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts', '*.cts'] }));
      await at(process.execPath, [path, '-p', place], place);
    });
  }
}

test('Vite bundles it for browsers, at the size that the README states', { timeout: 120_000 }, async () => {
  const { build } = await import('vite');
  const place = join(folder, 'npm');
  /** @type {Record<string, number>} */
  const sizes = {};
  for (const [name, code] of /** @type {const} */ ([
    ['client', `export { createShop } from '@plant-shop/client';`],
    ['webhooks', `export { verifyWebhook } from '@plant-shop/client/webhooks';`],
    ['login', `export { createLogin } from '@plant-shop/client/login';`],
  ])) {
    const entry = join(place, `${name}.js`);
    writeFileSync(entry, code);
    const result = await build({ root: place, configFile: false, logLevel: 'error', build: { write: false, minify: true, lib: { entry, formats: ['es'], fileName: name } } });
    const [{ output } = { output: [] }] = /** @type {any[]} */ ([result].flat());
    assert.equal(output.length, 1);
    const bundle = String(output[0].code);
    assert.doesNotMatch(bundle, /from ?["'](node:|@)/, 'something is left that a browser cannot load');
    sizes[name] = gzipSync(bundle).length;
    const file = join(place, `${name}.bundle.mjs`);
    writeFileSync(file, bundle);
    const loaded = await import(pathToFileURL(file).href);
    assert.equal(typeof (loaded.createShop ?? loaded.verifyWebhook ?? loaded.createLogin), 'function');
  }
  const { client = 0, webhooks = 0, login = 0 } = sizes;
  assert.ok(client < BROWSER_LIMIT, `${client} bytes`);
  const stated = [...README.slice(README.indexOf('## Size')).matchAll(/(\d+\.\d) kB/g)].map(([, kilobytes]) => Number(kilobytes) * 1_000);
  for (const [index, bytes] of [client, webhooks, login].entries()) assert.ok(Math.abs((stated[index] ?? 0) - bytes) <= 200, `the README states ${stated[index]} bytes, it is ${bytes}`);
});
