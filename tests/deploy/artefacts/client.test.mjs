import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { run } from '../../../tools/start/command.mjs';
import { ROOT } from '../../../tools/start/toolchain.mjs';

// Tests @plant-shop/client as users get it: packed, installed into an empty folder, used with several versions of Node and
// TypeScript, and bundled for browsers.

const require = createRequire(import.meta.url);
const { packageManager } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const PACKAGE = join(ROOT, 'libs/client');
const README = readFileSync(join(PACKAGE, 'README.md'), 'utf8');
/** One of each maintained release line, and the oldest that the package supports. */
const NODES = ['20.20.2', '22.23.3', '24.21.0'];
/** The limits that the package promises. */
const BROWSER_LIMIT = 15_000;

/** A program that needs no shop: the "discard" port has no listener. */
const PROGRAM = `
import assert from 'node:assert/strict';
import { createShop, InvalidUrl, Unreachable } from '@plant-shop/client';
import { verifyWebhook, WebhookRefused } from '@plant-shop/client/webhooks';
const shop = createShop({ url: 'http://127.0.0.1:9', credential: { apiKey: 'k' }, deadlineMs: 300 });
await assert.rejects(shop.GET('/store/inventory'), (error) => error instanceof Unreachable && error.outcome === 'not-done');
assert.throws(() => createShop({ url: 'shop' }), InvalidUrl);
assert.throws(() => verifyWebhook({}, '', 'whsec_c2VjcmV0'), (error) => error instanceof WebhookRefused && error.fault === 'headers');
console.log(process.version);
`;

const folder = mkdtempSync(join(tmpdir(), 'plant-shop-client-'));
/** @type {string} */
let tarball;

/** @param {string} command @param {string[]} args @param {string} cwd */
const at = (command, args, cwd) => run(command, args, { what: `${command} ${args.join(' ')}`, cwd, env: { ...process.env, CI: 'true' } });

/** @param {string} name of a dev dependency @param {string} path of its command */
const tool = (name, path) => join(dirname(require.resolve(`${name}/package.json`)), path);

/** Creates an empty folder with only a package.json. @param {string} name */
function emptyFolder(name) {
  const made = join(folder, name);
  mkdirSync(made);
  writeFileSync(join(made, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }));
  return made;
}

before(async () => {
  // Compiled tests are in the same folder, but only the files listed in package.json are packed.
  await at(process.execPath, [join(ROOT, 'node_modules/typescript-7/bin/tsc'), '-b', PACKAGE], ROOT);
  await at('npm', ['pack', '--pack-destination', folder], PACKAGE);
  tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '');
  await at('npm', ['install', '--no-audit', '--no-fund', tarball], emptyFolder('npm'));
}, { timeout: 120_000 });

after(() => rmSync(folder, { recursive: true, force: true }));

test('contains the build, README and licence, without tests and sources', () => {
  const files = readdirSync(join(folder, 'npm/node_modules/@plant-shop/client'), { recursive: true }).map(String);
  assert.ok(files.includes('dist/index.js') && files.includes('dist/webhooks.d.ts') && files.includes('README.md'));
  assert.deepEqual(files.filter((name) => /spec|fixture|\.map$|^src/.test(name)), []);
  const licence = readFileSync(join(folder, 'npm/node_modules/@plant-shop/client/LICENSE'), 'utf8');
  assert.equal(licence, readFileSync(join(ROOT, 'LICENSE'), 'utf8'));
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

for (const version of NODES) {
  test(`runs on Node ${version}`, async () => {
    const file = join(folder, 'npm', `program-${version}.mjs`);
    writeFileSync(file, PROGRAM);
    const output = await at('npx', ['--yes', '--package', `node@${version}`, '--', 'node', file], join(folder, 'npm'));
    assert.match(output, new RegExp(`^v${version}$`, 'm'));
  }, { timeout: 240_000 });
}

test('is installed by pnpm as well', async () => {
  const place = emptyFolder('pnpm');
  await at('npx', ['--yes', packageManager, 'add', tarball], place);
  writeFileSync(join(place, 'program.mjs'), PROGRAM);
  assert.match(await at(process.execPath, ['program.mjs'], place), new RegExp(process.version));
}, { timeout: 120_000 });

for (const [name, path] of /** @type {const} */ ([['typescript-6', join(ROOT, 'node_modules/typescript/bin/tsc')], ['typescript-7', join(ROOT, 'node_modules/typescript-7/bin/tsc')]])) {
  for (const [module, resolution] of /** @type {const} */ ([['nodenext', 'nodenext'], ['esnext', 'bundler']])) {
    test(`its types compile the README with ${name}, module resolution ${resolution}`, async () => {
      const place = join(folder, 'npm', `${name}-${resolution}`);
      mkdirSync(place);
      const code = [...README.matchAll(/^```js\n(.*?)^```$/gms)].map(([, block]) => block).join('\n');
      // The README's function is plain JavaScript; results of calls must be typed nevertheless.
      const typed = code.replace('function receive(headers, body)', 'function receive(headers: Headers | Record<string, string>, body: string)');
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
      writeFileSync(join(place, 'readme.ts'), typed + checks);
      const compilerOptions = { strict: true, noEmit: true, target: 'es2022', lib: ['es2023', 'dom'], module, moduleResolution: resolution, skipLibCheck: false, types: [] };
      writeFileSync(join(place, 'env.d.ts'), 'declare const process: { readonly env: Record<string, string | undefined> };\n');
      writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
      await at(process.execPath, [path, '-p', place], place);
    }, { timeout: 120_000 });
  }
}

test('Vite bundles it for browsers, at the size that the README states', async () => {
  const { build } = await import('vite');
  const place = join(folder, 'npm');
  /** @type {Record<string, number>} */
  const sizes = {};
  for (const [name, code] of [
    ['client', `export { createShop } from '@plant-shop/client';`],
    ['webhooks', `export { verifyWebhook } from '@plant-shop/client/webhooks';`],
  ]) {
    const entry = join(place, `${name}.js`);
    writeFileSync(entry, code ?? '');
    const result = await build({ root: place, configFile: false, logLevel: 'error', build: { write: false, minify: true, lib: { entry, formats: ['es'], fileName: name } } });
    const [{ output } = { output: [] }] = /** @type {any[]} */ ([result].flat());
    assert.equal(output.length, 1);
    const bundle = String(output[0].code);
    assert.doesNotMatch(bundle, /from ?["'](node:|@)/, 'something is left that a browser cannot load');
    sizes[name ?? ''] = gzipSync(bundle).length;
    const file = join(place, `${name}.bundle.mjs`);
    writeFileSync(file, bundle);
    const loaded = await import(pathToFileURL(file).href);
    assert.equal(typeof (loaded.createShop ?? loaded.verifyWebhook), 'function');
  }
  const { client = 0, webhooks = 0 } = sizes;
  assert.ok(client < BROWSER_LIMIT, `${client} bytes`);
  const stated = [...README.slice(README.indexOf('## Size')).matchAll(/(\d+\.\d) kB/g)].map(([, kilobytes]) => Number(kilobytes) * 1_000);
  for (const [index, bytes] of [client, webhooks].entries()) assert.ok(Math.abs((stated[index] ?? 0) - bytes) <= 200, `the README states ${stated[index]} bytes, it is ${bytes}`);
}, { timeout: 120_000 });
