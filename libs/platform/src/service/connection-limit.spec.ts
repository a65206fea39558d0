import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { Registry } from 'prom-client';
import type { Logger } from '../logging.js';
import { ConnectionLimit, type ConnectionLimits, listenAlso, openFileLimit, reusePort } from './connection-limit.js';

describe('the limit of connections', () => {
  let server: Server;
  let metrics: Registry;
  let lines: object[];
  const clients: Socket[] = [];

  const start = async (limits: Partial<ConnectionLimits>): Promise<void> => {
    metrics = new Registry();
    lines = [];
    const logger = { warn: (line: object) => void lines.push(line) } as unknown as Logger;
    new ConnectionLimit({ sockets: 1_000, silentPerNetwork: 64, trustedProxies: [], ...limits }, metrics, logger).watch(server);
    server.listen(0, '0.0.0.0');
    await once(server, 'listening');
  };

  const open = async (localAddress = '127.0.0.1'): Promise<Socket> => {
    const accepted = once(server, 'connection');
    const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', localAddress });
    clients.push(client);
    client.on('error', () => undefined).resume();
    await accepted;
    return client;
  };
  const openMany = async (count: number, localAddress?: string): Promise<Socket[]> => {
    const all = [];
    for (let n = 0; n < count; n++) all.push(await open(localAddress));
    return all;
  };
  const ask = async (client: Socket): Promise<string> => {
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const [bytes] = (await once(client, 'data')) as [Buffer];
    return bytes.toString();
  };
  const openOf = (some: readonly Socket[]): number => some.filter(({ closed }) => !closed).length;
  const value = async (name: string): Promise<number> => (await metrics.getSingleMetric(name)?.get())?.values.reduce((sum, one) => sum + one.value, 0) ?? NaN;

  beforeEach(() => {
    server = createServer((_, response) => response.end('ok'));
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
    server.close();
  });

  it('closes the oldest that have sent nothing for two seconds, beyond a number for each network; who sends a request gets in (slow)', async () => {
    await start({ silentPerNetwork: 10 });
    const silent = await openMany(25);
    await until(() => openOf(silent) === 10);
    expect(openOf(silent.slice(15))).toBe(10);
    expect(await value('http_connections_silent')).toBe(10);
    expect(await value('http_connections_closed_total')).toBe(15);
    expect(lines).toEqual([{ closed: 1, reason: 'silent', open: 24, silent: 24 }]);
    expect(await ask(await open())).toContain('200 OK');
    expect(await ask(await open('127.0.0.2'))).toContain('200 OK');
    // The test's side of the closed one hears of it after the answer.
    await until(() => openOf(silent) < 10);
    expect(openOf(silent)).toBe(9);
  });

  it('closes none of a client that opens many at once and then sends its requests', async () => {
    await start({ silentPerNetwork: 10 });
    const many = await openMany(40);
    expect(openOf(many)).toBe(40);
    expect((await Promise.all(many.map(ask))).every((answer) => answer.includes('200 OK'))).toBe(true);
  });

  it('counts a half of a request as none, and a connection with a request no more (slow)', async () => {
    await start({ silentPerNetwork: 2 });
    const [slow] = await openMany(1);
    slow?.write('GET / HTTP/1.1\r\nHo');
    const busy = await openMany(2);
    for (const one of busy) await ask(one);
    const others = await openMany(2);
    await until(() => slow?.closed === true);
    expect(openOf([...busy, ...others])).toBe(4);
  });

  it('lets trusted proxies open as many as a quarter of all (slow)', async () => {
    await start({ silentPerNetwork: 2, trustedProxies: ['127.0.0.0/24', '::1'], sockets: 40 });
    const silent = await openMany(15);
    await until(() => openOf(silent) === 10);
  });

  it('closes the oldest idle one when all are in use, whose ever it is', async () => {
    await start({ sockets: 8 });
    const idle: Socket[] = [];
    for (let n = 0; n < 8; n++) {
      const client = await open();
      await ask(client);
      idle.push(client);
    }
    expect(await ask(await open('127.0.0.2'))).toContain('200 OK');
    await until(() => openOf(idle) === 7);
    expect(idle[0]?.closed).toBe(true);
  });

  it('closes none with a request in progress', async () => {
    server.removeAllListeners('request');
    server.on('request', (_, response) => setTimeout(() => response.end('ok'), 300));
    await start({ sockets: 4 });
    const answers = [];
    for (let n = 0; n < 4; n++) {
      const client = await open();
      const requested = once(server, 'request');
      answers.push(ask(client));
      await requested;
    }
    const fifth = await open();
    await until(() => fifth.closed);
    expect((await Promise.all(answers)).every((answer) => answer.includes('200 OK'))).toBe(true);
  });

  it('lets a request know its address even after the client has reset the connection', async () => {
    const addresses: unknown[] = [];
    server.removeAllListeners('request');
    server.on('request', ({ socket }) => socket.once('close', () => addresses.push(socket.remoteAddress)));
    await start({});
    for (let n = 0; n < 20; n++) {
      const client = await open();
      client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n', () => client.resetAndDestroy());
    }
    await until(() => addresses.length > 0);
    expect(new Set(addresses)).toEqual(new Set(['127.0.0.1']));
  });
});

describe('the open files of a process', () => {
  it('are read from the system', () => {
    const folder = mkdtempSync(join(tmpdir(), 'limits-'));
    const file = join(folder, 'limits');
    writeFileSync(file, 'Limit                     Soft Limit           Hard Limit           Units\nMax processes             7                    7\nMax open files            1024                 524288               files\n');
    expect(openFileLimit(file)).toBe(1_024);
    writeFileSync(file, 'Max open files            unlimited            unlimited            files\n');
    expect(openFileLimit(file)).toBe(Infinity);
    expect(openFileLimit(join(folder, 'missing'))).toBe(Infinity);
    if (process.platform === 'linux') expect(openFileLimit()).toBeGreaterThan(10);
    rmSync(folder, { recursive: true });
  });
});

describe('several listening sockets', () => {
  it('connect many clients in a turn of the event loop where the system can, and end together (slow)', async () => {
    const server = createServer((_, response) => response.end('served'));
    const address = { host: '127.0.0.1', backlog: 512, reusePort };
    await once(server.listen({ ...address, port: 0 }), 'listening');
    const listening = new AbortController();
    await listenAlso(server, { ...address, signal: listening.signal });
    const { port } = server.address() as AddressInfo;
    let accepted = 0;
    server.on('connection', () => accepted++);
    const clients = Array.from({ length: 160 }, () => connect(port, '127.0.0.1'));
    let turns = 0;
    for (; accepted < clients.length; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(turns < 80).toBe(reusePort);
    expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe('served');
    for (const one of clients) one.destroy();
    listening.abort();
    await new Promise((resolve) => server.close(resolve));
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow();
  });
});
