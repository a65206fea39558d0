import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { defaultTypes } from '../../log/subscription.js';
import { type ClientTransport, Connection } from '../connection.js';
import { SlowClients } from './slow-clients.js';

const MiB = 1024 * 1024;
const principal = { subject: 'someone', permissions: [], shown: [] };
const caller = { principal, client: 'apiKey:one', revokedBy: [], expiresAt: Infinity };

describe('clients with too much unread data in total', () => {
  let server: Server;
  const ends: Socket[] = [];
  beforeEach(async () => {
    server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    for (const end of ends.splice(0)) end.destroy();
    server.close();
  });

  /** Returns a client that reads nothing of the bytes sent to it. */
  async function unreadBy(bytes: number): Promise<Connection> {
    const accepted = once(server, 'connection');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.pause();
    const [socket] = (await accepted) as [Socket];
    ends.push(client, socket);
    const connection = new Connection({}, caller, { types: defaultTypes });
    const nothing = (): void => undefined;
    const transport: ClientTransport = { kind: 'websocket', format: 'plain', socket, send: nothing, ping: () => true, close: nothing };
    connection.transport = transport;
    socket.write(Buffer.alloc(bytes));
    return connection;
  }

  it('are closed with 4100, those with most first, until the total is within the limit', async () => {
    const [some, most, more] = [await unreadBy(20 * MiB), await unreadBy(40 * MiB), await unreadBy(30 * MiB)];
    const slow = new SlowClients(50 * MiB);
    for (const connection of [some, most, more]) slow.note(connection);
    const closed: [Connection, number][] = [];
    slow.sweep(1_000, (connection, code) => closed.push([connection, code]));
    expect(closed).toEqual([[most, 4100]]);
  });

  it('stay open below the limit', async () => {
    const slow = new SlowClients(100 * MiB);
    slow.note(await unreadBy(40 * MiB));
    const closed: number[] = [];
    slow.sweep(1_000, (_, code) => closed.push(code));
    expect(closed).toEqual([]);
  });
});
