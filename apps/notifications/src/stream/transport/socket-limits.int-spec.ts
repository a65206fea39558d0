import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { toOptions } from '../../config.js';
import { testSettings } from '../../notifications.spec.fixture.js';
import { type Replica, Shop, updates } from '../stream.spec.fixture.js';
import { clientsWithin } from './socket-limits.js';

describe('the open files of a process', () => {
  it('limit its stream clients to four fifths, at most the setting', () => {
    const limitOf = (openFiles: number, setting = '20000'): number =>
      toOptions(testSettings('postgres://none', { STREAM_MAX_CONNECTIONS: setting }), false, openFiles).stream.maxConnections;
    expect([limitOf(1_024), limitOf(1_048_576), limitOf(Infinity), limitOf(1_024, '100'), clientsWithin(1)]).toEqual([819, 20_000, 20_000, 100, 1]);
  });
});

describe('sockets of one network', () => {
  let shop: Shop;
  const silent: Socket[] = [];
  beforeAll(async () => {
    shop = await Shop.open();
  });
  afterEach(async () => {
    for (const socket of silent.splice(0)) socket.destroy();
    await shop.reset();
  });
  afterAll(() => shop.close());

  const open = async (replica: Replica, count: number): Promise<Socket[]> => {
    const sockets = Array.from({ length: count }, () => connect(replica.port, '127.0.0.1'));
    silent.push(...sockets);
    for (const socket of sockets) socket.on('error', () => undefined).resume();
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    return sockets;
  };
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' };

  it('whose users are not known are limited; clients whose credentials were checked lately are not concerned (slow)', async () => {
    const replica = await shop.start({ STREAMS_PER_NETWORK: '3' });
    const known = await replica.opened();
    await open(replica, 3);
    for (const headers of [upgrade, {}, { accept: 'text/event-stream' }]) {
      const refused = await replica.ask(`${updates}?api_key=other`, headers);
      expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1', connection: 'close' } });
      expect(JSON.parse(refused.body)).toMatchObject({ code: 'too-many-requests' });
    }
    await Promise.all([replica.opened(), replica.opened()]);
    shop.move();
    await known.has(1);
    for (const socket of silent.splice(0)) socket.destroy();
    await until(async () => (await replica.ask(`${updates}?api_key=other`)).status === 200);
  });

  it('are closed at once beyond twice the limit', async () => {
    const replica = await shop.start({ STREAMS_PER_NETWORK: '3' });
    const sockets = await open(replica, 10);
    await until(() => Promise.resolve(sockets.filter((socket) => socket.closed).length === 4));
  });
});
