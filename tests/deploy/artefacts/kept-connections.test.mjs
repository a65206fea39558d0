import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { KeptConnections } from './kept-connections.mjs';

/** @type {(() => void)[]} */
const closers = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

/** Returns a server that ends each connection when its second request arrives, and a client with one connection to it. */
async function client() {
  const server = createServer((incoming, outgoing) => {
    const socket = /** @type {import('node:net').Socket & { isUsed?: boolean }} */ (incoming.socket);
    if (socket.isUsed) socket.resetAndDestroy();
    else outgoing.end('served');
    socket.isUsed = true;
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const connections = new KeptConnections();
  closers.push(() => connections.close(), () => void server.close());
  const ask = async () => {
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    const answer = await connections.send(`http://127.0.0.1:${port}`, { headers: {} });
    return (await answer.toArray()).join('');
  };
  assert.equal(await ask(), 'served');
  return { connections, ask };
}

test('a request that is lost on a connection that was idle for the whole announcement is sent again', async () => {
  const { connections, ask } = await client();
  await pause(2_000);
  assert.equal(await ask(), 'served');
  assert.equal(connections.resent, 1);
});

test('a request that is lost on a connection in use is an error', async () => {
  const { connections, ask } = await client();
  await assert.rejects(ask());
  assert.equal(connections.resent, 0);
});

test('a request that is lost on a new connection is an error', async () => {
  const { connections } = await client();
  const server = createServer((incoming) => incoming.socket.resetAndDestroy());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closers.push(() => void server.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  await assert.rejects(connections.send(`http://127.0.0.1:${port}`, { headers: {} }));
  assert.equal(connections.resent, 0);
});
