import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../tools/start/command.mjs';
import { ROOT } from '../../../tools/start/toolchain.mjs';

const PACKAGE = join(ROOT, 'libs/client');
export const CLIENT_README = readFileSync(join(PACKAGE, 'README.md'), 'utf8');
const compilers = { 'typescript-6': 'node_modules/typescript/bin/tsc', 'typescript-7': 'node_modules/typescript-7/bin/tsc' };
const modules = { nodenext: 'nodenext', bundler: 'esnext' };

/** A program that needs no shop: the "discard" port has no listener. */
export const PROGRAM = `
import assert from 'node:assert/strict';
import { createShop, InvalidUrl, Unreachable } from '@plant-shop/client';
import { verifyWebhook, WebhookRefused } from '@plant-shop/client/webhooks';
const shop = createShop({ url: 'http://127.0.0.1:9', credential: { apiKey: 'k' }, deadlineMs: 300 });
await assert.rejects(shop.GET('/store/inventory'), (error) => error instanceof Unreachable && error.outcome === 'not-done');
assert.throws(() => createShop({ url: 'shop' }), InvalidUrl);
assert.throws(() => verifyWebhook({}, '', 'whsec_c2VjcmV0'), (error) => error instanceof WebhookRefused && error.fault === 'headers');
console.log(process.version);
`;

/** @param {string} command @param {string[]} args @param {string} cwd */
export const at = (command, args, cwd) => run(command, args, { what: `${command} ${args.join(' ')}`, cwd, env: { ...process.env, CI: 'true' } });

/** Creates a folder with only a package.json. @param {string} path */
export function emptyFolder(path) {
  mkdirSync(path);
  writeFileSync(join(path, 'package.json'), JSON.stringify({ name: 'user-of-the-client', private: true, type: 'module' }));
  return path;
}

/** Packs @plant-shop/client and installs it with npm in `<folder>/npm`. @param {string} folder @returns {Promise<string>} the tarball */
export async function installClient(folder) {
  // Compiled tests are in the same folder, but only the files listed in package.json are packed.
  await at(process.execPath, [join(ROOT, 'node_modules/typescript-7/bin/tsc'), '-b', PACKAGE], ROOT);
  await at('npm', ['pack', '--pack-destination', folder], PACKAGE);
  const tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '');
  await at('npm', ['install', '--no-audit', '--no-fund', tarball], emptyFolder(join(folder, 'npm')));
  return tarball;
}

/** Runs the program on a version of Node, after `installClient`. @param {string} version @param {string} folder */
export async function runOn(version, folder) {
  const file = join(folder, 'npm', `program-${version}.mjs`);
  writeFileSync(file, PROGRAM);
  const output = await at('npx', ['--yes', '--package', `node@${version}`, '--', 'node', file], join(folder, 'npm'));
  assert.match(output, new RegExp(`^v${version}$`, 'm'));
}

/**
 * Compiles the README's code against the installed package, after `installClient`.
 * @param {keyof typeof compilers} compiler @param {keyof typeof modules} resolution of modules @param {string} folder
 */
export async function compileReadme(compiler, resolution, folder) {
  const place = join(folder, 'npm', `${compiler}-${resolution}`);
  mkdirSync(place);
  const code = [...CLIENT_README.matchAll(/^```js\n(.*?)^```$/gms)].map(([, block]) => block).join('\n');
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
  const compilerOptions = { strict: true, noEmit: true, target: 'es2022', lib: ['es2023', 'dom'], module: modules[resolution], moduleResolution: resolution, skipLibCheck: false, types: [] };
  writeFileSync(join(place, 'env.d.ts'), 'declare const process: { readonly env: Record<string, string | undefined> };\n');
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  await at(process.execPath, [join(ROOT, compilers[compiler]), '-p', place], place);
}
