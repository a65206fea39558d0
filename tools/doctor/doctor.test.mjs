import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../start/ports.mjs';
import { markOf } from '../start/processes.mjs';
import { pinnedNode, ROOT } from '../start/toolchain.mjs';
import { judgeClocks } from './clocks.mjs';
import { clockFinding, migrationNames } from './databases.mjs';
import { exitCode, line, passed, summary, unknown, wrong } from './finding.mjs';
import { judge } from './lag.mjs';
import { checkParts } from './parts.mjs';
import { checkPorts, listenerOf } from './ports.mjs';
import { checkPackages, staleProjects } from './toolchain.mjs';

const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
after(() => rmSync(folder, { recursive: true }));

/** @param {readonly import('./finding.mjs').Finding[]} findings */
const lines = (findings) => findings.map(line).join('\n');

test('the exit code is 0 only if all checks pass', () => {
  const [good, bad, dark] = [passed('a', 'b'), wrong('a', 'b', 'c'), unknown('a', 'b', 'c')];
  assert.deepEqual([[good], [good, bad, dark], [good, dark], []].map(exitCode), [0, 1, 2, 2]);
  assert.equal(summary([good, bad, bad, dark]), '1 ok, 2 wrong, 1 not checked');
});

test('a finding is one line with a remedy', () => {
  assert.equal(line(wrong('a', 'b\n  c', 'd')), 'WRONG  a: b c -> d');
});

test('a taken port is named, with the process that holds it', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const found = await checkPorts({ GATEWAY_PORT: `${port}`, STREAM_PORT: `${await freePort()}` });
  const holder = listenerOf(port);
  server.close();
  assert.match(lines(found), new RegExp(`WRONG  port ${port}: Port ${port} \\(GATEWAY_PORT\\) is taken\\..*GATEWAY_PORT=9090`));
  assert.ok(holder === process.pid || (process.platform !== 'linux' && holder === undefined));
  if (holder) assert.match(lines(found), new RegExp(`Process ${process.pid} has it`));
});

test('an invalid port is reported', async () => {
  assert.match(lines(await checkPorts({ GATEWAY_PORT: 'http', STREAM_PORT: `${await freePort()}` })), /WRONG .*GATEWAY_PORT=http is not a port/);
});

test('a part that was killed or never started is named', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  const mark = markOf(/** @type {number} */ (child.pid));
  assert.ok(mark);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const shop = {
    path: join(folder, 'run.json'),
    pid: process.pid,
    services: { store: [{ label: 'store', opsPort: 1, ...mark }], catalog: [{ label: 'catalog', opsPort: 1 }] },
    nats: { ...mark, url: '', users: {} },
  };
  const text = lines(await checkParts(shop));
  assert.match(text, /^ok {5}launcher/m);
  assert.match(text, new RegExp(`^WRONG  store: is not running \\(it was process ${mark.pid}\\) -> .*store\\.log`, 'm'));
  assert.match(text, /^WRONG {2}catalog: is not running ->/m);
  assert.match(text, /^WRONG {2}nats: is not running/m);
  assert.match(text, /^WRONG {2}identity: was not started/m);
  assert.match(lines(await checkParts({ ...shop, pid: mark.pid })), /^WRONG {2}launcher: was killed/m);
});

test('a service left out by --without is checked where the user runs it, and never reported missing', async () => {
  const server = createHttpServer((_, response) => response.end('{"checks":{"start":"ok","nats":"ok"}}'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const shop = { path: join(folder, 'run.json'), pid: process.pid, services: {} };
  const leftOut = { store: { environment: '/data/store.env', opsPort: port }, catalog: { environment: '/data/catalog.env', opsPort: await freePort() } };
  const text = lines(await checkParts({ ...shop, leftOut }));
  server.close();
  assert.match(text, /^ok {5}store: was left out, and yours is running$/m);
  assert.match(text, /^ok {5}store \/readyz: all its dependencies are ready \(start, nats\)$/m);
  assert.match(text, /^\? {6}catalog: was left out, and yours is not running -> .*\/data\/catalog\.env$/m);
});

test('missing packages, and packages that differ from the lock file, are reported', () => {
  const root = join(folder, 'checkout');
  mkdirSync(join(root, 'node_modules', '.pnpm'), { recursive: true });
  const write = (/** @type {string} */ file, /** @type {string} */ text) => writeFileSync(join(root, file), text);
  write('package.json', JSON.stringify({ packageManager: 'pnpm@12.18.0' }));
  write('pnpm-lock.yaml', 'new');
  const result = () => line(checkPackages(root));
  assert.match(result(), /not installed/);
  write('node_modules/.pnpm/lock.yaml', 'old');
  assert.match(result(), /differ from pnpm-lock\.yaml/);
  write('node_modules/.pnpm/lock.yaml', 'new');
  write('node_modules/.modules.yaml', '{"packageManager": "pnpm@9.0.0"}');
  assert.match(result(), /WRONG .*installed by pnpm@9\.0\.0, not pnpm@12\.18\.0/);
  write('node_modules/.modules.yaml', '{"packageManager": "pnpm@12.18.0"}');
  assert.match(result(), /^ok/);
});

test('the packages of this checkout match the lock file', () => {
  assert.match(line(checkPackages(ROOT)), /^ok/);
});

test('a project that the compiler would rebuild is older than its sources', () => {
  const output = `1:37 PM - Project '/r/libs/events/tsconfig.json' is up to date\n\n1:37 PM - A non-dry build would build project '/r/apps/store/tsconfig.json'\n`;
  assert.deepEqual(staleProjects(output, '/r'), ['apps/store']);
});

test('a clock is wrong if it is off by more than a second, however long the query took', () => {
  const of = (/** @type {number} */ theirs) => line(clockFinding('clock', { before: 10_000, after: 14_000, theirs }));
  assert.match(of(12_000), /^ok/);
  assert.match(of(14_900), /^ok/);
  assert.match(of(17_500), /WRONG .* 3\.5 s ahead of this machine/);
  assert.match(of(8_000), /WRONG .* 2\.0 s behind this machine/);
});

test('if clocks differ, the service that is off is named, with the difference and the services it was compared with', () => {
  const between = (/** @type {Record<string, number>} */ clocks) =>
    [['catalog', 'gateway'], ['store', 'gateway'], ['store', 'identity'], ['identity', 'gateway'], ['identity', 'store'], ['notifications', 'gateway']].map(([by = '', of = '']) => ({
      by,
      of,
      aheadS: (clocks[of] ?? 0) - (clocks[by] ?? 0) + 0.01,
    }));
  assert.match(lines(judgeClocks(between({}))), /^ok {5}clocks of services: differ by 0\.0 s at most$/);
  assert.match(lines(judgeClocks(between({ identity: 4 }))), /^ok {5}clocks of services: differ by 4\.0 s at most$/);
  assert.match(lines(judgeClocks(between({ identity: 600 }))), /^WRONG {2}clock of identity: 600\.0 s ahead of catalog, gateway, store, notifications -> docs\/operations\.md#clocks-differ$/);
  assert.match(lines(judgeClocks(between({ gateway: -7 }))), /^WRONG {2}clock of gateway: 7\.0 s behind catalog, /);
  assert.match(lines(judgeClocks(between({ store: 10, catalog: -10 }))), /^WRONG {2}clock of catalog: 10\.0 s behind .*\nWRONG {2}clock of store: 10\.0 s ahead of /);
  assert.match(lines(judgeClocks([])), /^\? {6}clocks of services: no service has measured/);
});

test('lag beyond its limit is wrong and names the runbook', () => {
  const metrics = `
# HELP feed_follower_behind_seconds Age of the first event that the follower has not passed
# TYPE feed_follower_behind_seconds gauge
feed_follower_behind_seconds{follower="notifications",service="store"} 900.12
webhook_oldest_undelivered_seconds{service="notifications"} 12
`;
  const text = lines(judge('store', metrics));
  assert.match(text, /WRONG {2}store feed, age of the first unread event of notifications: 900 s, usually at most 60 -> docs\/operations\.md#/);
  assert.match(text, /ok {5}store oldest undelivered webhook: 12 s/);
});

test('migrations have the names that the database records', () => {
  assert.deepEqual(migrationNames(['1764000000010-web-hooks.sql', 'README.md', '1764000000001-a.sql']), ['a1764000000001', 'web-hooks1764000000010']);
});

test('if nothing runs, the checks are reported as not made, not as passed', async () => {
  const env = { PATH: process.env['PATH'], DATA_DIR: folder, GATEWAY_PORT: `${await freePort()}`, STREAM_PORT: `${await freePort()}` };
  const ended = await promisify(execFile)(pinnedNode(), [join(ROOT, 'tools', 'doctor', 'main.mjs')], { env }).catch((error) => error);
  assert.match(ended.stdout, /^\? {6}shop: none runs here -> npm start/m);
  assert.match(ended.stdout, /^\? {6}databases: not checked/m);
  assert.match(ended.stdout, /^\d+ ok, \d+ wrong, 5 not checked$/m);
  assert.ok([1, 2].includes(ended.code));
});
