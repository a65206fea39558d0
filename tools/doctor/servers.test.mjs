import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { run } from '../start/command.mjs';
import { freePort } from '../start/ports.mjs';
import { sleep } from '../start/processes.mjs';
import { pinnedNode, ROOT } from '../start/toolchain.mjs';
import { checkDatabases } from './databases.mjs';
import { line } from './finding.mjs';
import { checkNats } from './nats.mjs';
import { checkHealth } from './parts.mjs';
import { startServers } from './servers.fixture.mjs';

/** @type {Awaited<ReturnType<typeof startServers>>} */
let servers;
/** @type {import('node:child_process').ChildProcess[]} */
const processes = [];
const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };

before(async () => {
  servers = await startServers();
});
after(async () => {
  for (const one of processes) if (one.exitCode === null && one.signalCode === null) one.kill('SIGKILL');
  await servers?.stop();
});

/** @param {readonly import('./finding.mjs').Finding[]} findings */
const lines = (findings) => findings.map(line).join('\n');

/** Starts a real catalog. @param {string} user its NATS user @returns {Promise<() => Promise<string>>} the doctor's findings about it */
async function startCatalog(user) {
  const port = await freePort();
  const settings = {
    CATALOG_DATABASE_URL: servers.urls['catalog'],
    PUBLIC_URL: 'http://127.0.0.1',
    NATS_URL: servers.nats.url,
    NATS_USER: user,
    NATS_PASSWORD: servers.nats.users[user],
    OPS_PORT: `${port}`,
  };
  const child = spawn(pinnedNode(), [join(ROOT, 'apps/catalog/dist/main.js')], { env: { ...env, ...settings }, stdio: 'ignore' });
  processes.push(child);
  return async () => lines(await checkHealth('catalog', `http://127.0.0.1:${port}`, 'logs'));
}

/** @param {() => Promise<string>} read @param {RegExp} wanted */
async function becomes(read, wanted) {
  let last = '';
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(100)) if (wanted.test((last = await read()))) return;
  assert.match(last, wanted);
}

test('pending migrations are named until they have run (slow)', async () => {
  const { catalog } = servers.urls;
  const pending = lines(await checkDatabases(ROOT, { catalog }));
  assert.match(pending, /^ok {5}database catalog: answers$/m);
  assert.match(pending, /^WRONG {2}schema catalog: \d+ migrations are pending: \S*\d{13}/m);
  assert.match(pending, /^ok {5}clock catalog/m);
  const unready = await startCatalog('catalog');
  await becomes(unready, /WRONG {2}catalog requires schema: migrations are pending.*npm start/);
  await run(pinnedNode(), [join(ROOT, 'apps/catalog/dist/migrate.js')], { what: 'migrate', cwd: ROOT, env: { ...env, CATALOG_DATABASE_URL: catalog } });
  assert.match(lines(await checkDatabases(ROOT, { catalog })), /^ok {5}schema catalog: \d+ migrations, none pending$/m);
  await becomes(unready, /^ok {5}catalog \/readyz: all its dependencies are ready \(start, nats, database, schema\)$/);
});

test('a password that the database rejects is reported without being printed', async () => {
  const text = lines(await checkDatabases(ROOT, { store: servers.urls['store']?.replace(':s@', ':canary@') }));
  assert.match(text, /WRONG {2}database store: password authentication failed for user "store" ->/);
  assert.doesNotMatch(text, /canary/);
});

test('each NATS user is reported as accepted or refused', async () => {
  const text = lines(await checkNats(ROOT, { ...servers.nats, users: { ...servers.nats.users, store: 'canary' } }));
  assert.match(text, /^ok {5}NATS gateway: accepted/m);
  assert.match(text, /^WRONG {2}NATS store: .*Authorization Violation/im);
  assert.doesNotMatch(text, /canary|pgateway/);
});

test('missing permissions of a NATS account are reported (slow)', async () => {
  await becomes(await startCatalog('operator'), /WRONG {2}catalog requires nats: NATS account permissions deny subscribing to .*rpc\.catalog\.\* -> .*deploy\/nats\/nats\.conf/);
});

test('a process that has ended is reported as not answering (slow)', async () => {
  const health = await startCatalog('catalog');
  await becomes(health, /^ok/);
  const child = processes.at(-1);
  child?.kill('SIGKILL');
  await once(/** @type {import('node:child_process').ChildProcess} */ (child), 'exit');
  assert.match(await health(), /WRONG {2}catalog \/livez: no answer \(connect ECONNREFUSED/);
});

test('unreachable servers are reported', async () => {
  const port = await freePort();
  assert.match(lines(await checkDatabases(ROOT, { store: `postgresql://store:canary@127.0.0.1:${port}/store` })), /WRONG {2}database store: connect ECONNREFUSED/);
  const nats = lines(await checkNats(ROOT, { url: `nats://operator:canary@127.0.0.1:${port}`, users: {} }));
  assert.equal((await checkNats(ROOT, { ...servers.nats, url: `nats://127.0.0.1:${port}` })).length, 1);
  assert.match(nats, /WRONG {2}NATS without a password: nats:\/\/127\.0\.0\.1:\d+: /);
  assert.doesNotMatch(nats, /canary/);
});
