import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { run } from '../inside.js';

// What each user may say is tried one by one where the accounts are written (tools/start/nats-accounts.test.mjs). Here: that
// the broker of a shop that runs has them.

/** All that the broker answers to some lines of its protocol. */
function talk(login: { user?: string; pass?: string }, lines: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(run().nats.url);
  return new Promise((resolve, reject) => {
    let heard = '';
    const socket = connect(Number(port), hostname);
    socket.on('error', reject);
    socket.on('close', () => resolve(heard));
    socket.on('data', (text) => {
      heard += text.toString();
      if (heard.endsWith('PONG\r\n')) socket.end();
    });
    socket.write([`CONNECT ${JSON.stringify({ verbose: false, ...login })}`, ...lines, 'PING', ''].join('\r\n'));
  });
}

describe('the broker', () => {
  it('lets nobody in without a password, or with that of another', async () => {
    const { users } = run().nats;
    for (const login of [{}, { user: 'store' }, { user: 'store', pass: users['catalog'] ?? '' }, { user: 'nobody', pass: 'x' }]) {
      expect(await talk(login, [])).toContain("-ERR 'Authorization Violation'");
    }
  });

  it.each(['gateway', 'catalog', 'store', 'identity', 'notifications'])('does not let %s listen to what is others\'', async (user) => {
    const { users } = run().nats;
    const others = Object.keys(users).filter((one) => one !== user && one !== 'operator');
    const subjects = ['>', 'rpc.>', 'reply.>', '$SYS.>', '_INBOX.>', ...others.flatMap((one) => [`rpc.${one}`, `reply.${one}.>`])];
    const heard = await talk({ user, pass: users[user] ?? '' }, subjects.map((subject, id) => `SUB ${subject} ${id}`));
    for (const subject of subjects) expect(heard).toContain(`-ERR 'Permissions Violation for Subscription to "${subject}"'`);
  });

  it.each(['catalog', 'store', 'identity', 'notifications'])('does not let %s answer for others', async (user) => {
    const { users } = run().nats;
    const heard = await talk({ user, pass: users[user] ?? '' }, ['PUB $SYS.REQ.SERVER.PING 0\r\n', 'PUB _INBOX.x 0\r\n', `PUB rpc.${user} 0\r\n`]);
    for (const subject of ['$SYS.REQ.SERVER.PING', '_INBOX.x', `rpc.${user}`]) expect(heard).toContain(`-ERR 'Permissions Violation for Publish to "${subject}"'`);
  });
});
