import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLogger } from '../../libs/platform/dist/logging.js';
import { Nats } from '../../libs/platform/dist/nats.js';
import { run } from '../../tools/start/command.mjs';
import { findNats } from '../../tools/start/nats-binary.mjs';
import { natsReady } from '../../tools/start/nats.mjs';
import { freePort } from '../../tools/start/ports.mjs';
import { sleep } from '../../tools/start/processes.mjs';
import { NATS_USERS } from '../../tools/start/services.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';

// Runs deploy/nats/rotate.sh on a real NATS server. Only kubectl is imitated: Secrets are folders, a rollout is this test's work.

const found = await findNats({ signal: AbortSignal.timeout(60_000), say: console.log });
const skip = !('binary' in found) && 'NATS runs in a container here';
const logger = createLogger('test', 'silent');

/** @param {string} folder @param {string} pidFile of the server */
function kubectlIn(folder, pidFile) {
  mkdirSync(join(folder, 'bin'));
  const kubectl = join(folder, 'bin/kubectl');
  writeFileSync(kubectl, `#!/bin/sh
    shift 2
    case "$1 $2" in
      'get secret') for key in ${folder}/$3/*; do echo "$(basename $key) $(cat $key)"; done ;;
      'patch secret') node -e '
        const fs = require("fs"), [folder, patch] = process.argv.slice(1), { stringData = {}, data = {} } = JSON.parse(patch);
        for (const [key, value] of Object.entries(stringData)) fs.writeFileSync(folder + "/" + key, value);
        for (const key of Object.keys(data)) fs.rmSync(folder + "/" + key, { force: true })' ${folder}/$3 "$5" ;;
      'create secret') cat "\${5#--from-file=accounts.conf=}" ;;
      'apply --filename') cat > ${folder}/new.conf && mv ${folder}/new.conf ${folder}/accounts.conf ;;
      'get pods') echo pod/nats-0 ;;
      'get deployments') echo deployment.apps/store ;;
      'rollout restart') touch ${folder}/restart ;;
      'rollout status') while [ -e ${folder}/restart ]; do sleep 0.1; done ;;
      exec*) case "$*" in *accounts.conf) cat ${folder}/accounts.conf ;; *) kill -HUP "$(cat ${pidFile})"; sleep 0.5 ;; esac ;;
      *) echo "not imitated: $*" >&2; exit 1 ;;
    esac`);
  chmodSync(kubectl, 0o755);
  return { ...process.env, PATH: `${join(folder, 'bin')}:${process.env['PATH']}` };
}

test('a rotation fails no request, and the former password is refused afterwards', { skip, timeout: 60_000 }, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-shop-rotation-'));
  context.after(() => rmSync(folder, { recursive: true }));
  for (const user of NATS_USERS) {
    mkdirSync(join(folder, `nats-user-${user}`));
    writeFileSync(join(folder, `nats-user-${user}/user`), user);
    writeFileSync(join(folder, `nats-user-${user}/password`), `s${user}`);
  }
  const pidFile = join(folder, 'pid');
  const env = kubectlIn(folder, pidFile);
  writeFileSync(join(folder, 'accounts.conf'), await run('sh', [join(ROOT, 'deploy/nats/accounts.sh'), 'plant-shop'], { what: 'accounts.sh', cwd: ROOT, env }));
  const port = await freePort();
  writeFileSync(join(folder, 'nats.conf'), `port: ${port}\nhost: 127.0.0.1\npid_file: "${pidFile}"\ninclude accounts.conf\n`);
  const server = spawn('binary' in found ? found.binary : '', ['-c', join(folder, 'nats.conf')], { stdio: 'ignore' });
  context.after(() => server.kill());
  await natsReady(port, AbortSignal.timeout(10_000));

  const [url, signal] = [`nats://127.0.0.1:${port}`, AbortSignal.timeout(50_000)];
  const secretOf = (/** @type {string} */ user) => {
    const [name, password] = ['user', 'password'].map((key) => readFileSync(join(folder, `nats-user-${user}`, key), 'utf8'));
    return { user: name ?? '', password: password ?? '' };
  };
  /** A replica of the store, which answers each call. */
  const replica = async () => {
    const nats = await Nats.connect({ url, name: 'store', ...secretOf('store') }, logger, signal);
    const listener = nats.listen('rpc.store.*', (message) => nats.connection.publish(message.reply ?? ''), { queue: 'store' });
    await nats.connection.flush();
    return { listener, nats };
  };
  const former = secretOf('store');
  let serving = await replica();
  const gateway = await Nats.connect({ url, name: 'gateway', ...secretOf('gateway') }, logger, signal);
  context.after(() => gateway.close(100));
  /** @type {Set<string>} */
  const answered = new Set();
  gateway.listen('reply.gateway.*.*.*', ({ subject }) => answered.add(subject));
  let asked = 0;
  let downs = 0;
  const asking = setInterval(() => {
    if (!gateway.isUp || !serving.nats.isUp) downs += 1;
    gateway.connection.publish('rpc.store.gateway', '', { reply: `reply.gateway.i.store.${asked++}` });
  }, 5);
  const rollingOut = (async () => {
    while (!existsSync(join(folder, 'restart'))) await sleep(20);
    const next = await replica();
    await serving.listener.drain();
    await serving.nats.close(1_000);
    serving = next;
    rmSync(join(folder, 'restart'));
  })();

  await run('sh', [join(ROOT, 'deploy/nats/rotate.sh'), 'store', 'plant-shop'], { what: 'rotate.sh', cwd: ROOT, env });
  await rollingOut;
  clearInterval(asking);
  await sleep(500);

  assert.ok(asked > 100, `${asked} requests`);
  assert.deepEqual([asked - answered.size, downs], [0, 0], 'unanswered, and moments without a connection');
  assert.deepEqual(readdirSync(join(folder, 'nats-user-store')).sort(), ['password', 'user']);
  assert.equal(secretOf('store').user, 'store-next');
  await assert.rejects(Nats.connect({ url, name: 'store', ...former }, logger, AbortSignal.timeout(1_500)));
  await serving.nats.close(100);
  server.kill();
  await once(server, 'exit');
});
