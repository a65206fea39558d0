import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { consolePolicy } from '../../../apps/gateway/dist/console/console.js';
import { fetchBinary } from '../../../tools/start/debian-package.mjs';
import { onPath } from '../../../tools/start/path.mjs';
import { freePort } from '../../../tools/start/ports.mjs';
import { cacheFolder } from '../../../tools/start/system-user.mjs';
import { textOf } from '../services.mjs';
import { ARTEFACTS } from './toured-shop.mjs';

// Runs the contents of the console's image in a real nginx: this machine's, else Debian's.

const image = join(ARTEFACTS, 'console');

const settings = { PUBLIC_URL: 'https://shop.example', STREAM_PUBLIC_URL: 'wss://events.shop.example', CONSOLE_OAUTH_CLIENT: 'some-client' };
const nginx = await findNginx();

async function findNginx() {
  const installed = onPath('nginx');
  if (installed !== undefined) return installed;
  const cached = join(cacheFolder(undefined), 'nginx');
  if (!existsSync(cached)) await fetchBinary({ name: 'nginx', binary: 'nginx' }, cached, { signal: AbortSignal.timeout(60_000), say: console.log });
  return existsSync(cached) ? cached : undefined;
}

describe('the image of the console', { skip: nginx === undefined && 'there is no nginx here, and none to fetch' }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-shop-nginx-'));
  /** @type {import('node:child_process').ChildProcess} */
  let server;
  let url = '';

  before(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    // As the image's start does: only variables that are set are filled in.
    const site = Object.entries(settings).reduce((text, [name, value]) => text.replaceAll(`\${${name}}`, value), readFileSync(join(image, 'etc/nginx/templates/default.conf.template'), 'utf8'));
    writeFileSync(join(folder, 'default.conf'), site.replace('listen 8080', `listen 127.0.0.1:${port}`).replace('/usr/share/nginx/html', join(image, 'usr/share/nginx/html')));
    const types = 'text/html html; text/css css; application/javascript js; image/svg+xml svg;';
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ');
    writeFileSync(
      join(folder, 'nginx.conf'),
      `daemon off; pid ${folder}/pid; error_log stderr; ${process.getuid?.() === 0 ? 'user root;' : ''} events {} http { types { ${types} } access_log ${folder}/access.log; ${temporary} include ${folder}/default.conf; }`,
    );
    server = spawn(/** @type {string} */ (nginx), ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], { stdio: ['ignore', 'inherit', 'inherit'] });
    for (let waited = 0; waited < 100; waited++) {
      if (await fetch(`${url}/livez`).then(({ ok }) => ok, () => false)) return;
      assert.equal(server.exitCode, null, 'nginx has ended');
      await setTimeout(100);
    }
    assert.fail('nginx does not answer');
  });

  after(async () => {
    if (server?.exitCode === null) {
      server.kill('SIGTERM');
      await once(server, 'exit');
    }
    rmSync(folder, { recursive: true });
  });

  const read = async (/** @type {string} */ path, /** @type {Record<string, string>} */ headers = {}) => {
    const response = await fetch(url + path, { headers });
    return { status: response.status, text: await response.text(), header: (/** @type {string} */ name) => response.headers.get(name) };
  };

  test('answers each path within the console with the page, revalidated on each use, under the policy of the gateway', async () => {
    const policy = consolePolicy({ publicUrl: settings.PUBLIC_URL, streamPublicUrl: settings.STREAM_PUBLIC_URL });
    for (const path of ['/console', '/console/', '/console/orders/7?tab=timeline']) {
      const { status, text, header } = await read(path);
      assert.deepEqual([status, header('cache-control'), header('content-type')], [200, 'no-cache', 'text/html; charset=utf-8'], path);
      assert.equal(header('content-security-policy'), policy);
      assert.match(text, /<div id="root">/);
      assert.equal((await read(path, { 'if-none-match': header('etag') ?? '' })).status, 304);
    }
  });

  test('serves hashed files as immutable and compressed, and answers 404 for a missing one', async () => {
    const { text } = await read('/console');
    const [script = ''] = /\/console\/assets\/index-[^"]+\.js/.exec(text) ?? [];
    const { status, header } = await read(script, { 'accept-encoding': 'gzip' });
    assert.deepEqual([status, header('content-encoding'), header('vary')], [200, 'gzip', 'Accept-Encoding']);
    assert.equal(header('cache-control'), 'public, max-age=31536000, immutable');
    const gone = await read('/console/assets/index-gone.js');
    assert.equal(gone.status, 404);
    assert.doesNotMatch(gone.header('cache-control') ?? '', /immutable/);
    assert.equal((await read('/consoles')).status, 404);
  });

  test('logs no request: its address may contain an authorization code', async () => {
    assert.equal((await read('/console/?code=some-code')).status, 200);
    // nginx logs a request after its answer, at the latest before the next one of the same connection.
    await read('/console/');
    assert.equal(readFileSync(join(folder, 'access.log'), 'utf8'), '');
  });

  test('tells the page its settings', async () => {
    const { text, header } = await read('/console/settings.json');
    assert.equal(header('cache-control'), 'no-cache');
    assert.deepEqual(JSON.parse(text), { publicUrl: settings.PUBLIC_URL, oauthClient: settings.CONSOLE_OAUTH_CLIENT, streamUrl: settings.STREAM_PUBLIC_URL });
  });
});

test('without the address of the API, or a place for its configuration, the image ends as a service does', () => {
  const start = (/** @type {NodeJS.ProcessEnv} */ env) => {
    const { status, stderr } = spawnSync(join(image, 'docker-entrypoint.d/05-settings.sh'), { env: { ...process.env, ...settings, NGINX_ENVSUBST_OUTPUT_DIR: tmpdir(), ...env }, encoding: 'utf8' });
    return `${status} ${stderr}`;
  };
  assert.match(start({ PUBLIC_URL: '' }), /^78 PUBLIC_URL is missing/);
  assert.match(start({ NGINX_ENVSUBST_OUTPUT_DIR: '/nowhere' }), /^78 \/nowhere is not writable/);
  assert.equal(start({}), '0 ');
});

test('the image declares its base and settings, and names the command that builds its contents', () => {
  const text = textOf('deploy/console/Dockerfile');
  assert.match(text, /^ARG NGINX_IMAGE=nginxinc\/nginx-unprivileged:\d+\.\d+\.\d+-alpine$/m);
  assert.match(text, /--target console /);
  for (const name of Object.keys(settings)) assert.match(text, new RegExp(`\\b${name}=`), name);
});
