import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DataDir } from './data-dir.mjs';
import { environmentFile } from './own-process.mjs';
import { freePort } from './ports.mjs';
import { sleep } from './processes.mjs';
import { answers } from './readiness.mjs';
import { postgresUser, canReach } from './system-user.mjs';
import { ROOT } from './toolchain.mjs';

const parent = canReach(tmpdir(), postgresUser()) ? tmpdir() : '/tmp';
const folder = mkdtempSync(join(parent, 'plant-shop-own-process-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

test('Node and a shell read the same values from an environment file', () => {
  const env = { PLAIN: 'postgresql://a:b@127.0.0.1:5/c', EMPTY: '', LIST: '127.0.0.1:*, [::1]:* # $HOME', QUOTE: "it's", LINES: 'one\ntwo' };
  const file = join(folder, 'some.env');
  writeFileSync(file, environmentFile(env, ['A comment']));
  const script = `process.stdout.write(JSON.stringify(${JSON.stringify(Object.keys(env))}.map((name) => [name, process.env[name]])))`;
  const byNode = execFileSync(process.execPath, [`--env-file=${file}`, '-e', script], { env: {}, encoding: 'utf8' });
  const byShell = execFileSync('/bin/sh', ['-c', `set -a; . ${file}; set +a; exec "$0" -e '${script}'`, process.execPath], { env: {}, encoding: 'utf8' });
  assert.deepEqual(Object.fromEntries(JSON.parse(byNode)), env);
  assert.equal(byShell, byNode);
  assert.throws(() => environmentFile({ BOTH: `'"` }), { message: /^BOTH holds both/ });
});

test('a developer\'s own store replaces the one left out, accepts a debugger, and restarts when its build changes (slow)', { timeout: 300_000 }, async (t) => {
  const dataDir = new DataDir(join(folder, 'shop'));
  const gateway = `http://127.0.0.1:${await freePort()}`;
  const place = { DATA_DIR: dataDir.path, GATEWAY_PORT: new URL(gateway).port, STREAM_PORT: `${await freePort()}`, INITIAL_STOCK: '7' };
  const shop = begin(t, process.execPath, ['tools/start/main.mjs', '--quiet', '--without', 'store'], { ...process.env, ...place });
  t.after(() => dataDir.empty());
  await shop.prints(/Run store yourself/);

  const report = /** @type {any} */ (await (await fetch(`${gateway}/readyz`)).json());
  assert.deepEqual(Object.keys(report.services).filter((name) => report.services[name] !== 'ready'), ['store']);
  // Under that name browsers have passkeys; the address answers, too.
  const { reference } = /** @type {any} */ (await (await fetch(gateway)).json());
  assert.equal(reference, `${gateway.replace('127.0.0.1', 'localhost')}/docs`);
  const headers = { api_key: 'special-key', 'content-type': 'application/json' };
  const post = (/** @type {string} */ path, /** @type {object} */ body) => fetch(`${gateway}/v3${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  assert.equal((await post('/store/order', { plantId: 7, quantity: 1 })).status, 503);

  const environment = readFileSync(dataDir.environmentFile('store'), 'utf8');
  assert.equal(statSync(dataDir.environmentFile('store')).mode & 0o777, 0o600);
  assert.match(environment, /^INITIAL_STOCK='7'$/m);
  assert.doesNotMatch(environment, /^(PATH|HOME|STORE_MIGRATION_DATABASE_URL)=/m);

  const command = / {4}(\S+node --env-file=.*)$/m.exec(shop.output())?.[1] ?? '';
  assert.match(command, /--watch --inspect=/);
  const { PATH = '' } = process.env;
  const own = begin(t, '/bin/sh', ['-c', `exec ${command}`], { PATH });
  await shop.prints(/store responds: the shop is complete/);

  await post('/plant', { id: 7, name: 'Monstera', photoUrls: [], status: 'available' });
  const order = await post('/store/order', { plantId: 7, quantity: 7 });
  assert.equal(order.status, 200, await order.text());
  assert.equal((await post('/store/order', { plantId: 7, quantity: 1 })).status, 409);
  const debuggerUrl = /Debugger listening on ws:\/\/([^/]+)/.exec(own.output())?.[1];
  assert.equal((await fetch(`http://${debuggerUrl}/json/version`)).status, 200);

  const starts = () => own.output().split('"msg":"listening"').length - 1;
  const before = starts();
  const now = new Date();
  utimesSync(join(ROOT, 'apps/store/dist/main.js'), now, now);
  await own.until(() => starts() > before);
  await answers(`${gateway}/readyz`, { limitMs: 30_000, signal: t.signal });
  assert.equal((await fetch(`${gateway}/v3/store/inventory`, { headers })).status, 200);

  assert.equal(await shop.end(), 0);
  await own.end();
});

/**
 * Runs a process in the checkout, and collects its output.
 * @param {import('node:test').TestContext} t
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
function begin(t, command, args, env) {
  const child = spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const end = async () => {
    child.kill('SIGTERM');
    const [code] = await ended;
    return code;
  };
  t.after(end);
  const until = async (/** @type {() => boolean} */ isSo) => {
    while (!isSo()) {
      assert.equal(child.exitCode, null, output);
      await sleep(50);
    }
  };
  return { output: () => output, end, until, prints: (/** @type {RegExp} */ text) => until(() => text.test(output)) };
}
