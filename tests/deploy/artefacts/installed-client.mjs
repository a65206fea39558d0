import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../tools/start/command.mjs';
import { ROOT } from '../../../tools/start/toolchain.mjs';

const PACKAGE = join(ROOT, 'libs/client');

/** A program that needs no shop: the "discard" port has no listener. */
export const PROGRAM = `
import assert from 'node:assert/strict';
import { createShop, InvalidUrl, Unreachable } from '@plant-shop/client';
import { createLogin } from '@plant-shop/client/login';
import { verifyWebhook, WebhookRefused } from '@plant-shop/client/webhooks';
const shop = createShop({ url: 'http://127.0.0.1:9', credential: { apiKey: 'k' }, deadlineMs: 300 });
await assert.rejects(shop.GET('/store/inventory'), (error) => error instanceof Unreachable && error.outcome === 'not-done');
assert.throws(() => createShop({ url: 'shop' }), InvalidUrl);
assert.throws(() => createLogin({ url: 'shop', clientId: 'c', redirectUri: 'r', scope: 's' }), InvalidUrl);
assert.throws(() => verifyWebhook({}, '', 'whsec_c2VjcmV0'), (error) => error instanceof WebhookRefused && error.fault === 'headers');
console.log(process.version);
`;

/** The same from CommonJS, whose classes must be the same as those of an import. */
const COMMON_PROGRAM = `
const { createShop, InvalidUrl } = require('@plant-shop/client');
const { createLogin } = require('@plant-shop/client/login');
const { verifyWebhook, WebhookRefused } = require('@plant-shop/client/webhooks');
const assert = require('node:assert/strict');
assert.throws(() => createShop({ url: 'shop' }), InvalidUrl);
assert.throws(() => createLogin({ url: 'shop', clientId: 'c', redirectUri: 'r', scope: 's' }), InvalidUrl);
assert.throws(() => verifyWebhook({}, '', 'whsec_c2VjcmV0'), WebhookRefused);
import('@plant-shop/client').then((imported) => {
  assert.equal(imported.createShop, createShop);
  console.log(process.version);
});
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

/** Runs the programs on a version of Node, after `installClient`. @param {string} version @param {string} folder */
export async function runOn(version, folder) {
  for (const [name, program] of /** @type {const} */ ([['program.mjs', PROGRAM], ['program.cjs', COMMON_PROGRAM]])) {
    const file = join(folder, 'npm', `${version}-${name}`);
    writeFileSync(file, program);
    const output = await at('npx', ['--yes', '--package', `node@${version}`, '--', 'node', file], join(folder, 'npm'));
    assert.match(output, new RegExp(`^v${version}$`, 'm'));
  }
}
