import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client } from 'pg';
import { attempt } from '../../tools/start/command.mjs';
import { checkDatabases } from '../../tools/doctor/databases.mjs';
import { line } from '../../tools/doctor/finding.mjs';
import { checkNats } from '../../tools/doctor/nats.mjs';
import { checkHealth } from '../../tools/doctor/parts.mjs';
import { startServers } from '../../tools/doctor/servers.fixture.mjs';
import { natsReady } from '../../tools/start/nats.mjs';
import { freePort } from '../../tools/start/ports.mjs';
import { sleep } from '../../tools/start/processes.mjs';
import { postgresUser } from '../../tools/start/system-user.mjs';
import { pinnedNode, ROOT } from '../../tools/start/toolchain.mjs';
import { Authority } from './authority.mjs';
import { SERVICES } from './services.mjs';

// Services with Postgres and NATS servers that require TLS and have certificates of a private CA.

const DATABASES = SERVICES.filter((service) => service !== 'gateway');

const folder = mkdtempSync(join(tmpdir(), 'plant-shop-tls-'));
const ours = new Authority(folder, 'ours');
const stranger = new Authority(folder, 'stranger');
/** The CA file of the services, which may be replaced while they run. */
const known = join(folder, 'known.crt');
/** @type {{ crt: string, key: string }} */
let certificate;
/** @type {Awaited<ReturnType<typeof startServers>>} */
let servers;
/** @type {Set<import('node:child_process').ChildProcess>} */
const processes = new Set();

before(async () => {
  copyFileSync(ours.file, known);
  servers = await startServers((place, owner) => {
    certificate = { crt: join(place, 'server.crt'), key: join(place, 'server.key') };
    ours.certify(certificate, 'localhost', owner);
    return certificate;
  });
});
after(async () => {
  for (const one of processes) one.kill('SIGKILL');
  await servers?.stop();
  rmSync(folder, { recursive: true });
});

/** @param {string} name of a service and its database */
const databaseUrl = (name) => (servers.urls[name] ?? '').replace('127.0.0.1', 'localhost');
/** For connections of this test, which know the CA. @param {string} name */
const trustingUrl = (name) => `${databaseUrl(name)}?sslmode=verify-full&sslrootcert=${known}`;
const poolVariable = (/** @type {string} */ service) => `${service.toUpperCase()}_DATABASE_POOL_SIZE`;
const natsUrl = () => servers.nats.url.replace('nats://127.0.0.1', 'tls://localhost');

/** @param {string} service @param {Record<string, string>} given */
const environmentOf = (service, given) => ({
  PATH: process.env['PATH'] ?? '',
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
  NATS_URL: natsUrl(),
  NATS_CA: known,
  NATS_USER: service,
  NATS_PASSWORD: servers.nats.users[service] ?? '',
  PGSSLROOTCERT: known,
  [`${service.toUpperCase()}_DATABASE_URL`]: service === 'gateway' ? '' : databaseUrl(service),
  PUBLIC_URL: 'http://127.0.0.1',
  GATEWAY_PORT: '0',
  STREAM_PORT: '0',
  IDENTITY_HTTP_PORT: '0',
  IDENTITY_HTTP_URL: 'http://127.0.0.1',
  IDENTITY_SECRET: 's'.repeat(40),
  NOTIFICATIONS_SECRET: 's'.repeat(40),
  ...given,
});

/** Starts a service process. @param {string} service @param {Record<string, string>} [given] */
async function start(service, given = {}) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = environmentOf(service, { ...given, OPS_PORT: `${port}` });
  const child = spawn(pinnedNode(), [join(ROOT, 'apps', service, 'dist', 'main.js')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  processes.add(child);
  let log = '';
  child.stdout.on('data', (text) => (log += text));
  const isThere = () => child.exitCode === null && child.signalCode === null;
  return {
    health: async () => (await checkHealth(service, url, 'logs')).map(line).join('\n'),
    metrics: async () => (await fetch(`${url}/metrics`)).text(),
    isThere,
    log: () => log,
    stop: async () => {
      processes.delete(child);
      child.kill('SIGKILL');
      if (isThere()) await once(child, 'exit');
    },
  };
}

/** @param {string} service @param {Record<string, string>} [given] */
const migrate = (service, given = {}) =>
  attempt(pinnedNode(), [join(ROOT, 'apps', service, 'dist', 'migrate.js')], { cwd: ROOT, env: environmentOf(service, given) });

/**
 * Waits until a text of a service matches. Fails at once when its process has ended.
 * @param {Awaited<ReturnType<typeof start>>} service @param {'health' | 'log'} what @param {RegExp} wanted
 */
async function becomes(service, what, wanted) {
  let last = '';
  for (const end = Date.now() + 30_000; Date.now() < end && service.isThere(); await sleep(100)) if (wanted.test((last = await service[what]()))) return;
  assert.match(last, wanted);
}

/** Matches a service's message about a rejected certificate. */
const REFUSED = /self-signed certificate in certificate chain|unable to (verify the first|get local issuer) certificate|certificate signature failure/;

describe('TLS inside', () => {
  test('the servers refuse connections without TLS', async () => {
    await assert.rejects(new Client({ connectionString: databaseUrl('store') }).connect(), /no encryption/);
  });

  test('with the CA, migrations run and all services become ready', async (context) => {
    for (const { code, output } of await Promise.all(DATABASES.map((service) => migrate(service)))) assert.equal(code, 0, output);
    const started = await Promise.all(SERVICES.map((service) => start(service, { [poolVariable(service)]: '4' })));
    for (const one of started) await becomes(one, 'health', /^ok {5}\w+ \/readyz: all its dependencies are ready/);
    for (const [n, service] of SERVICES.entries()) {
      if (service === 'gateway') continue;
      await context.test(`${service} opens at most ${poolVariable(service)} connections, and exposes that limit as a metric`, async () => {
        assert.match((await started[n]?.metrics()) ?? '', new RegExp(`^db_pool_size\\{service="${service}"\\} 4$`, 'm'));
        const opened = await connectionsOf(service);
        assert.ok(opened > 0 && opened <= 4, `${opened} connections`);
      });
    }
    await Promise.all(started.map(({ stop }) => stop()));
  });

  test('the doctor checks both servers, and reports an unknown CA', async () => {
    const looked = async (/** @type {string | undefined} */ ca) =>
      [...(await checkDatabases(ROOT, { store: databaseUrl('store') }, ca)), ...(await checkNats(ROOT, { ...servers.nats, url: natsUrl(), ca }))].map(line).join('\n');
    assert.doesNotMatch(await looked(known), /WRONG/);
    const wrong = await looked(stranger.file);
    assert.match(wrong, /WRONG {2}database store: .*certificate/);
    assert.match(wrong, /WRONG {2}NATS: .*certificate/);
  });

  for (const [what, authority] of /** @type {const} */ ([['signed by another CA', 'stranger'], ['signed by a CA that is not configured', 'none']])) {
    test(`a database whose certificate is ${what} gets no password and no statement`, async () => {
      const refusing = authority === 'none'
        ? { PGSSLROOTCERT: '', CATALOG_DATABASE_URL: `${databaseUrl('catalog')}?sslmode=verify-full` }
        : { PGSSLROOTCERT: stranger.file };
      const { code, output } = await migrate('catalog', refusing);
      assert.equal(code, 1);
      assert.match(output, REFUSED);
      assert.match(output, /^\{.*"msg":"migration failed"\}\n$/, 'one line');
      const catalog = await start('catalog', refusing);
      await becomes(catalog, 'health', REFUSED);
      assert.match(await catalog.health(), /WRONG {2}catalog requires database/);
      await catalog.stop();
    });

    test(`a NATS server whose certificate is ${what} gets no login`, async () => {
      const catalog = await start('catalog', { NATS_CA: authority === 'none' ? '' : stranger.file });
      await becomes(catalog, 'log', REFUSED);
      assert.match(await catalog.health(), /WRONG {2}catalog requires nats: not connected/);
      await catalog.stop();
    });
  }

  test('certificates for another host are rejected, even if the CA signed them', async () => {
    await serve(ours, 'another.example');
    const catalog = await start('catalog');
    await becomes(catalog, 'log', /does not match certificate's altnames.*nats unreachable, retrying/);
    await catalog.stop();
    const { code, output } = await migrate('catalog');
    assert.notEqual(code, 0);
    assert.match(output, /does not match certificate's altnames/);
    await serve(ours, 'localhost');
  });

  test('the CA can be replaced without restarting services', async () => {
    const [catalog, gateway] = [await start('catalog'), await start('gateway')];
    for (const one of [catalog, gateway]) await becomes(one, 'health', /^ok {5}\w+ \/readyz/);
    const next = new Authority(folder, 'next');
    copyFileSync(next.file, known);
    await serve(next, 'localhost');
    await cutConnections();
    for (const one of [catalog, gateway]) await becomes(one, 'health', /^ok {5}\w+ \/readyz/);
    assert.ok(catalog.isThere() && gateway.isThere());
    await becomes(catalog, 'log', /nats disconnected[^]*nats reconnected/);
    await Promise.all([catalog.stop(), gateway.stop()]);
  });
});

/** Replaces the certificates of both servers. Restarts NATS, so that no earlier connection remains. @param {Authority} authority @param {string} host */
async function serve(authority, host) {
  authority.certify(certificate, host, postgresUser());
  process.kill(servers.postgres.mark?.pid ?? 0, 'SIGHUP');
  const broker = servers.broker.mark;
  process.kill(broker?.pid ?? 0, 'SIGKILL');
  while (servers.broker.mark) await sleep(20);
  servers.broker.start();
  await natsReady(Number(new URL(servers.nats.url).port), AbortSignal.timeout(10_000));
}

/** Closes the catalog's connections to its database. */
async function cutConnections() {
  const client = new Client({ connectionString: trustingUrl('catalog') });
  await client.connect();
  await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()');
  await client.end();
}

/** Returns the number of a service's connections to its database. @param {string} service @returns {Promise<number>} */
async function connectionsOf(service) {
  const client = new Client({ connectionString: trustingUrl(service), application_name: 'test' });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = $1', [service]);
    return rows[0].count;
  } finally {
    await client.end();
  }
}
