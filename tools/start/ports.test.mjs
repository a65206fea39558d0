import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { claimPorts, freePort, nextFreePort } from './ports.mjs';

const hasIpv6 = Object.values(networkInterfaces()).flat().some((one) => one?.address === '::1');

/** @param {import('node:test').TestContext} t @returns {Promise<number>} a port that is in use */
async function takenPort(t, host = '127.0.0.1') {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, host, () => resolve(undefined)));
  t.after(() => server.close());
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port;
}

test('a taken port is refused with its number and its variable', async (t) => {
  const port = await takenPort(t);
  await assert.rejects(claimPorts({ GATEWAY_PORT: 8080 }, { GATEWAY_PORT: `${port}` }), { message: new RegExp(`Port ${port} \\(GATEWAY_PORT\\) is taken.*GATEWAY_PORT=`) });
});

test('so is one that another program has at ::1, where browsers look for `localhost` first', { skip: !hasIpv6 && 'this machine has no IPv6' }, async (t) => {
  const port = await takenPort(t, '::1');
  await assert.rejects(claimPorts({ GATEWAY_PORT: 8080 }, { GATEWAY_PORT: `${port}` }), { message: /is taken/ });
});

test('all refused ports are named at once', async (t) => {
  const port = await takenPort(t);
  const env = { GATEWAY_PORT: `${port}`, STREAM_PORT: 'http' };
  await assert.rejects(claimPorts({ GATEWAY_PORT: 8080, STREAM_PORT: 8081 }, env), { message: /GATEWAY_PORT\) is taken[^]*STREAM_PORT=http is not a port/ });
});

test('one port is refused for two variables', async () => {
  const port = `${await freePort()}`;
  const twice = claimPorts({ GATEWAY_PORT: 8080, STREAM_PORT: 8081 }, { GATEWAY_PORT: port, STREAM_PORT: port });
  await assert.rejects(twice, { message: /is taken/ });
});

test('a replica gets the next free port', async (t) => {
  const port = await takenPort(t);
  assert.ok((await nextFreePort(port)) > port);
});

test('free ports are distinct, and below those of outgoing connections', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, freePort));
  assert.equal(new Set(ports).size, 20);
  assert.ok(Math.max(...ports) < 32_768);
});
