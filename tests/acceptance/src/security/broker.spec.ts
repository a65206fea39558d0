import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { run } from '../internals.js';
import { fresh, ok, send, staff } from '../shop.js';

// tools/start/nats-accounts.test.mjs tests each permission of each account, libs/service-testing/src/accounts.int-spec.ts each operation.
// Here: the broker and the services of a running shop apply them.

/** Sends protocol lines to the broker. @returns everything that it sends until `isDone` */
function talk(login: { user?: string; pass?: string }, lines: readonly string[], isDone = (received: string) => received.endsWith('PONG\r\n')): Promise<string> {
  const { hostname, port } = new URL(run().nats.url);
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(Number(port), hostname);
    socket.setEncoding('latin1').setTimeout(15_000, () => socket.destroy(new Error(`No answer to ${lines.join()}: ${received}`)));
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
    socket.on('data', (text: string) => {
      received += text;
      if (isDone(received)) socket.end();
    });
    socket.write([`CONNECT ${JSON.stringify({ verbose: false, ...login })}`, ...lines, 'PING', ''].join('\r\n'), 'latin1');
  });
}

const loginOf = (user: string): { user: string; pass: string } => ({ user, pass: run().nats.users[user] ?? '' });
/** Who calls whom. */
const calls: Readonly<Record<string, readonly string[]>> = {
  gateway: ['catalog', 'store', 'identity', 'notifications'],
  catalog: ['store'],
  store: ['catalog', 'identity'],
  identity: ['store', 'notifications'],
  notifications: ['store', 'identity'],
  operator: ['catalog', 'store', 'identity'],
};
const accounts = Object.keys(calls);

const asAdmin = { subject: '00000000-0000-4000-8000-000000000001', permissions: ['write:users', 'manage:orders', 'read:orders'], shown: ['session'] };

/** A batch with one call, as libs/contracts/README.md specifies it. */
function batchOf(op: string, payload: object, principal?: object): string {
  const deadline = Date.now() + 10_000;
  const meta = Buffer.from(JSON.stringify({ id: 1, op, request: 'broker-test', budgetMs: 10_000, deadline, ...(principal && { principal }) }));
  const body = Buffer.from(JSON.stringify(payload));
  const head = Buffer.alloc(16);
  head.write('RP\x01\x01', 'latin1');
  [1, meta.length, body.length].forEach((number, n) => head.writeUInt32BE(number, 4 + 4 * n));
  return Buffer.concat([head, meta, body]).toString('latin1');
}

let calling = 0;

/** Makes a call with an account's password. @returns the metadata of the answer */
async function callAs(user: string, service: string, op: string, payload: object, principal?: object): Promise<{ error?: { code: string } }> {
  const inbox = `reply.${user}.test-${++calling}`;
  const batch = batchOf(op, payload, principal);
  const pub = `PUB rpc.${service}.${user} ${inbox}.${service}.1 ${batch.length}\r\n${batch}`;
  // Also delivered are requests for the caller's clock, which go unanswered.
  const answer = new RegExp(`MSG ${inbox}\\.${service}\\.1 \\w+ (\\d+)\r\n(RP[^]*)`);
  const received = await talk(loginOf(user), [`SUB ${inbox}.*.* 1`, pub], (text) => Number(answer.exec(text)?.[1]) <= (answer.exec(text)?.[2]?.length ?? 0));
  const data = Buffer.from(answer.exec(received)?.[2] ?? '', 'latin1');
  return JSON.parse(data.toString('utf8', 16, 16 + data.readUInt32BE(8))) as { error?: { code: string } };
}

describe('the broker', () => {
  it('refuses connections without a password or with that of another account', async () => {
    const { users } = run().nats;
    for (const login of [{}, { user: 'store' }, { user: 'store', pass: users['catalog'] ?? '' }, { user: 'nobody', pass: 'x' }]) {
      expect(await talk(login, [])).toContain("-ERR 'Authorization Violation'");
    }
  });

  it.each(accounts)('does not let %s subscribe to subjects of others', async (user) => {
    const others = accounts.filter((one) => one !== user);
    const subjects = ['>', 'rpc.>', 'reply.>', '$SYS.>', '_INBOX.>', ...others.flatMap((one) => [`rpc.${one}.*`, `reply.${one}.*.*.*`])];
    const received = await talk(loginOf(user), subjects.map((subject, id) => `SUB ${subject} ${id}`));
    for (const subject of subjects) expect(received).toContain(`-ERR 'Permissions Violation for Subscription to "${subject}"'`);
  });

  it.each(accounts)('does not let %s publish calls or answers in the name of others', async (user) => {
    const inNameOfOthers = accounts.filter((from) => from !== user)
      .flatMap((from) => accounts.flatMap((to) => [`rpc.${to}.${from}`, `reply.${to}.i.${from}.1`, `clock.${to}.i.${from}.1`]));
    const uncalled = accounts.filter((to) => !calls[user]?.includes(to)).map((to) => `rpc.${to}.${user}`);
    const broadcasts = ['identity.revocations', 'store.feed', 'notifications.fanout', 'gateway.counts'].filter((subject) => !subject.startsWith(user));
    const subjects = ['$SYS.REQ.SERVER.PING', '_INBOX.x', ...inNameOfOthers, ...uncalled, ...broadcasts];
    const received = await talk(loginOf(user), subjects.map((subject) => `PUB ${subject} 0\r\n`));
    for (const subject of subjects) expect(received).toContain(`-ERR 'Permissions Violation for Publish to "${subject}"'`);
  });
});

describe('a service', () => {
  const name = fresh('stolen');
  const key = { username: 'admin', apiKey: { name } };

  it.each<[string, string, string, object, object | undefined]>([
    ['notifications', 'identity', 'createApiKey', key, asAdmin],
    ['store', 'identity', 'createApiKey', key, asAdmin],
    ['operator', 'identity', 'createApiKey', key, asAdmin],
    ['store', 'identity', 'checkCredential', { kind: 'apiKey', digest: 'a'.repeat(64) }, undefined],
    ['store', 'identity', 'resolveUsername', { username: 'admin' }, asAdmin],
    ['catalog', 'store', 'closeCustomer', { userId: asAdmin.subject }, undefined],
    ['catalog', 'store', 'listOrders', { owner: '*' }, asAdmin],
    ['catalog', 'store', 'retirePlant', { plantId: 1, incarnation: 1 }, asAdmin],
    ['notifications', 'store', 'cancelOrder', { orderId: 1 }, asAdmin],
    ['identity', 'store', 'reconcileOrders', {}, undefined],
  ])('refuses %s, which may call %s, but not %s with this', async (user, service, op, payload, principal) => {
    expect(await callAs(user, service, op, payload, principal)).toMatchObject({ error: { code: 'unknown-operation' } });
  });

  it('answers a caller that its contract names', async () => {
    expect(await callAs('store', 'identity', 'resolveUsername', { username: 'admin' })).not.toHaveProperty('error');
    expect(await ok(send('GET', '/v3/user/admin/apiKeys', { as: staff }))).not.toContainEqual(expect.objectContaining({ name }));
  });
});
