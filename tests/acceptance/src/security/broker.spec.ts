import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { run } from '../internals.js';

// tools/start/nats-accounts.test.mjs tests each permission of each account. Here: the broker of a running shop applies them.

/** Sends protocol lines to the broker. @returns everything that it answers */
function talk(login: { user?: string; pass?: string }, lines: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(run().nats.url);
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(Number(port), hostname);
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
    socket.on('data', (text) => {
      received += text.toString();
      if (received.endsWith('PONG\r\n')) socket.end();
    });
    socket.write([`CONNECT ${JSON.stringify({ verbose: false, ...login })}`, ...lines, 'PING', ''].join('\r\n'));
  });
}

describe('the broker', () => {
  it('refuses connections without a password or with that of another account', async () => {
    const { users } = run().nats;
    for (const login of [{}, { user: 'store' }, { user: 'store', pass: users['catalog'] ?? '' }, { user: 'nobody', pass: 'x' }]) {
      expect(await talk(login, [])).toContain("-ERR 'Authorization Violation'");
    }
  });

  it.each(['gateway', 'catalog', 'store', 'identity', 'notifications'])('does not let %s subscribe to subjects of others', async (user) => {
    const { users } = run().nats;
    const others = Object.keys(users).filter((one) => one !== user && one !== 'operator');
    const subjects = ['>', 'rpc.>', 'reply.>', '$SYS.>', '_INBOX.>', ...others.flatMap((one) => [`rpc.${one}`, `reply.${one}.>`])];
    const received = await talk({ user, pass: users[user] ?? '' }, subjects.map((subject, id) => `SUB ${subject} ${id}`));
    for (const subject of subjects) expect(received).toContain(`-ERR 'Permissions Violation for Subscription to "${subject}"'`);
  });

  it.each(['catalog', 'store', 'identity', 'notifications'])('does not let %s publish to subjects of others', async (user) => {
    const { users } = run().nats;
    const received = await talk({ user, pass: users[user] ?? '' }, ['PUB $SYS.REQ.SERVER.PING 0\r\n', 'PUB _INBOX.x 0\r\n', `PUB rpc.${user} 0\r\n`]);
    for (const subject of ['$SYS.REQ.SERVER.PING', '_INBOX.x', `rpc.${user}`]) expect(received).toContain(`-ERR 'Permissions Violation for Publish to "${subject}"'`);
  });
});
