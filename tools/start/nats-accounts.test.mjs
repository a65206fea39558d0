import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { findNats } from './nats-binary.mjs';
import { natsReady, natsServer } from './nats.mjs';
import { freePort } from './ports.mjs';
import { NATS_USERS, SERVICES } from './services.mjs';
import { ROOT } from './toolchain.mjs';

/** Which services call which, and which publish to which: deliberately a second definition of the architecture. */
const calls = {
  gateway: ['catalog', 'store', 'identity', 'notifications'],
  catalog: ['store'],
  store: ['catalog', 'identity'],
  identity: ['store', 'notifications'],
  notifications: ['store', 'identity'],
  operator: ['catalog', 'identity', 'store'],
};
const broadcasts = {
  'identity.revocations': { from: ['identity'], to: ['gateway', 'notifications'] },
  'store.feed': { from: ['store'], to: ['notifications'] },
  'notifications.fanout': { from: ['notifications'], to: ['notifications'] },
  'gateway.counts': { from: ['gateway'], to: ['gateway'] },
};

const allowed = {
  publish: new Set([
    ...Object.entries(calls).flatMap(([caller, callees]) =>
      callees.flatMap((callee) => [`${caller} rpc.${callee}.${caller}`, `${caller} clock.${callee}.i.${caller}.r`, `${callee} reply.${caller}.i.${callee}.f`]),
    ),
    ...Object.entries(broadcasts).flatMap(([subject, { from }]) => from.map((service) => `${service} ${subject}`)),
  ]),
  subscribe: new Set([
    ...SERVICES.flatMap((service) => (service === 'gateway' ? [] : [`${service} rpc.${service}.* ${service}`, `${service} clock.${service}.i.*.*`])),
    ...NATS_USERS.map((user) => `${user} reply.${user}.i.*.*`),
    ...Object.entries(broadcasts).flatMap(([subject, { to }]) => to.map((service) => `${service} ${subject}`)),
  ]),
};
const subjects = {
  publish: [
    ...NATS_USERS.flatMap((to) => NATS_USERS.flatMap((from) => [`rpc.${to}.${from}`, `clock.${to}.i.${from}.r`, `reply.${to}.i.${from}.f`])),
    ...NATS_USERS.flatMap((name) => [`rpc.${name}`, `rpc.${name}.gateway.x`, `clock.${name}.i.r`, `reply.${name}.i.f`]),
    ...Object.keys(broadcasts),
    ...['_INBOX.x', '$SYS.REQ.SERVER.PING', 'other'],
  ],
  subscribe: [
    ...NATS_USERS.flatMap((name) => [`rpc.${name}.* ${name}`, `rpc.${name}.*`, `rpc.${name}.* other`, `rpc.${name} ${name}`, `rpc.*.${name}`, `clock.${name}.i.*.*`, `clock.*.i.${name}.*`, `reply.${name}.i.*.*`, `reply.${name}.>`, `reply.*.i.${name}.*`]),
    ...Object.keys(broadcasts),
    ...['>', 'rpc.>', 'clock.>', 'reply.>', '_INBOX.>', '$SYS.>', 'other'],
  ],
};

const folder = mkdtempSync(join(tmpdir(), 'nats-'));
const port = await freePort();
const password = (/** @type {string} */ user) => `p${user}`;
const signal = AbortSignal.timeout(60_000);
const server = natsServer(await findNats({ signal, say: () => {} }), {
  port,
  config: join(ROOT, 'deploy/nats/nats.conf'),
  passwords: Object.fromEntries(NATS_USERS.map((user) => [`${user.toUpperCase()}_NATS_PASSWORD`, password(user)])),
  logFile: join(folder, 'log'),
  onEnd: () => false,
});
before(async () => {
  server.start();
  await natsReady(port, signal);
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

for (const service of NATS_USERS) {
  test(`${service} may publish and subscribe to exactly its subjects`, async () => {
    const publications = subjects.publish.map((subject) => `PUB ${subject} 0\r\n`);
    const subscriptions = subjects.subscribe.map((subject, id) => `SUB ${subject} ${id}`);
    const answer = await talk({ user: service, pass: password(service) }, [...publications, ...subscriptions]);

    const isAllowed = (/** @type {string} */ what) => !answer.includes(`-ERR 'Permissions Violation for ${what}'`);
    for (const subject of subjects.publish) {
      assert.equal(isAllowed(`Publish to "${subject}"`), allowed.publish.has(`${service} ${subject}`), `publish ${subject}`);
    }
    for (const subscription of subjects.subscribe) {
      const [subject, queue] = subscription.split(' ');
      const what = `Subscription to "${subject}"${queue ? ` using queue "${queue}"` : ''}`;
      assert.equal(isAllowed(what), allowed.subscribe.has(`${service} ${subscription}`), `subscribe ${subscription}`);
    }
  });
}

test('a connection without a password, or with that of another service, is refused', async () => {
  for (const login of [{}, { user: 'store' }, { user: 'store', pass: password('catalog') }, { user: 'operator', pass: password('gateway') }, { user: 'nobody', pass: 'x' }]) {
    assert.match(await talk(login, []), /-ERR 'Authorization Violation'/);
  }
});

test('a stalled connection is closed within 5 s, so that it does not stay in its queue group (slow)', async () => {
  const from = performance.now();
  const socket = createConnection({ host: '127.0.0.1', port });
  let heard = '';
  // Never answers a ping.
  socket.on('data', (text) => (heard += text));
  socket.write(`CONNECT ${JSON.stringify({ verbose: false, user: 'store', pass: password('store') })}\r\nSUB rpc.store.* store 1\r\n`);
  await once(socket, 'close');
  assert.match(heard, /-ERR 'Stale Connection'/);
  assert.ok(performance.now() - from < 5_000);
});

/**
 * Sends lines of the NATS protocol and returns all output of the server.
 * @param {{ user?: string, pass?: string }} login
 * @param {string[]} lines
 * @returns {Promise<string>}
 */
function talk(login, lines) {
  return new Promise((resolve, reject) => {
    let heard = '';
    const socket = createConnection({ host: '127.0.0.1', port });
    socket.on('error', reject);
    socket.on('close', () => resolve(heard));
    socket.on('data', (text) => {
      heard += text;
      if (heard.endsWith('PONG\r\n')) socket.end();
    });
    socket.write([`CONNECT ${JSON.stringify({ verbose: false, ...login })}`, ...lines, 'PING', ''].join('\r\n'));
  });
}
