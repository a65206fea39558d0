import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { startProxy } from '@plant-shop/testing/proxy';
import { until } from '@plant-shop/testing/until';
import { Gate, readJob, silentLogger, StubService, TestClient, writeJob } from './rpc/stub-service.spec.fixture.js';
import { createLogger } from './logging.js';
import { Nats } from './nats.js';
import { type RpcContext } from './rpc/context.js';
import { contextFor } from './rpc/context.spec.fixture.js';

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'answered',
    (error: unknown) => (error as { code?: string }).code ?? String(error),
  );

/** Closes what a test opened, in reverse order, whether it passed or not. */
const closers: (() => Promise<void>)[] = [];
const closing = <T>(thing: T, close: (thing: T) => Promise<void>): T => {
  closers.unshift(() => close(thing));
  return thing;
};
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

describe('while the NATS server is unreachable', () => {
  let nats: TestNats;
  let caller: TestClient;
  let service: StubService;
  let handled: string[];
  let gate: Gate;
  beforeEach(async () => {
    handled = [];
    gate = new Gate();
    nats = closing(await startNats(), (one) => one.stop());
    service = closing(
      await StubService.start(nats.url, {
        writeJob: async ({ name }) => {
          handled.push(name);
          if (name === 'slow') await gate.passed;
          return { done: name };
        },
      }),
      (one) => one.close(),
    );
    caller = closing(await TestClient.connect(nats.url), (one) => one.close());
  });
  const call = (name: string, budgetMs?: number): Promise<string> =>
    codeOf(caller.client.call(writeJob, { name }, contextFor(budgetMs)));
  const stopNats = async (): Promise<void> => {
    await nats.stop();
    await until(() => !caller.nats.isUp && !service.nats.isUp);
  };
  const restartNats = async (): Promise<void> => {
    await nats.restart();
    await until(async () => (await call('probe', 1_000)) === 'answered');
  };

  it('calls are unavailable at once, and answered again after it restarts without any state', async () => {
    await stopNats();
    const started = performance.now();
    expect(await call('a')).toBe('unavailable');
    expect(await codeOf(caller.client.call(readJob, { name: 'a' }, contextFor()))).toBe('unavailable');
    expect(performance.now() - started).toBeLessThan(2_000);
    await restartNats();
    expect(await call('b')).toBe('answered');
    expect(handled).not.toContain('a');
  });

  it('no call that ended as unavailable is buffered and handled after its restart (slow)', async () => {
    await stopNats();
    // Long enough for several connection attempts: at each the client discards what was published before it.
    const codes: string[] = [];
    let restarted: Promise<void> | undefined;
    for (let n = 0; n < 50; n++) {
      codes.push(await call(`refused ${n}`));
      await new Promise((resolve) => setTimeout(resolve, 15));
      if (n === 35) restarted = nats.restart();
    }
    await restarted;
    await until(async () => (await call('probe', 1_000)) === 'answered');
    expect(codes).toContain('unavailable');
    const handledAnyway = codes.filter((code, n) => code === 'unavailable' && handled.includes(`refused ${n}`));
    expect(handledAnyway).toEqual([]);
  });

  it('no call that ended as unavailable in the turn of the disconnection is handled (slow)', async () => {
    const disconnected = (async () => {
      for await (const status of caller.nats.connection.status()) if (status.type === 'disconnect') return;
    })();
    const calls: Promise<string>[] = [];
    const pump = setInterval(() => calls.push(call(`n${calls.length}`, 400)), 1);
    await nats.stop();
    await disconnected;
    clearInterval(pump);
    const codes = await Promise.all(calls);
    await restartNats();
    expect(codes.filter((code, n) => code === 'unavailable' && handled.includes(`n${n}`))).toEqual([]);
    expect(codes.filter((code) => !['answered', 'unavailable', 'outcome-unknown'].includes(code))).toEqual([]);
  });

  it('a call in progress ends as outcome-unknown, or is answered if both sides reconnect in time (slow)', async () => {
    const expiring = call('slow', 500);
    const surviving = call('slow', 20_000);
    await until(() => handled.length === 2);
    await stopNats();
    expect(await expiring).toBe('outcome-unknown');
    await restartNats();
    gate.open();
    expect(await surviving).toBe('answered');
    expect(handled.filter((one) => one === 'slow')).toHaveLength(2);
  });
});

describe('a connection', () => {
  it('waits for a server that is not running yet, and logs it', async () => {
    const log: string[] = [];
    const nats = closing(await startNats(), (one) => one.stop());
    await nats.stop();
    const connecting = Nats.connect(
      { url: nats.url, name: 'early' },
      createLogger('test', 'warn', { write: (line: string) => void log.push(line) }),
    );
    await until(() => log.some((line) => line.includes('nats unreachable, retrying')));
    await nats.restart();
    const connection = closing(await connecting, (one) => one.close(1_000));
    expect(connection.isUp).toBe(true);
  });

  it('that is refused because of its password logs that without the password, and connects once the server accepts it', async () => {
    const log: string[] = [];
    const users = (password: string): string => `authorization { users: [{ user: "store", password: "${password}" }] }`;
    const nats = closing(await startNats({ config: users('another-one') }), (one) => one.stop());
    const connecting = Nats.connect(
      { url: nats.url, name: 'store', user: 'store', password: 'canary-4711' },
      createLogger('test', 'warn', { write: (line: string) => void log.push(line) }),
    );
    await until(() => log.some((line) => line.includes('Authorization Violation')));
    expect(log.join('')).not.toContain('canary-4711');
    await nats.reconfigure(users('canary-4711'));
    closing(await connecting, (one) => one.close(1_000));
  });

  it.each([
    ['its URL requires it', { scheme: 'tls:' }],
    ['it has a CA file', { scheme: 'nats:', ca: fileURLToPath(import.meta.url) }],
  ])('refuses a server without TLS when %s', async (_, { scheme, ...authority }) => {
    const log: string[] = [];
    const nats = closing(await startNats(), (one) => one.stop());
    const stop = new AbortController();
    const connecting = Nats.connect(
      { url: nats.url.replace('nats:', scheme), name: 'store', ...authority },
      createLogger('test', 'warn', { write: (line: string) => void log.push(line) }),
      stop.signal,
    );
    await until(() => log.some((line) => line.includes("does not support 'tls'")));
    stop.abort(new Error('stopped'));
    await expect(connecting).rejects.toThrow('stopped');
  });

  it('continues to read after a listener failed, and never gets its own messages', async () => {
    const nats = closing(await startNats(), (one) => one.stop());
    const connection = closing(await Nats.connect({ url: nats.url, name: 'test' }, silentLogger()), (one) => one.close(1_000));
    const other = closing(await connect({ servers: nats.url }), (one) => one.close());
    const received: string[] = [];
    connection.listen('news', (message) => {
      received.push(message.string());
      if (received.length === 1) throw new Error('a defect of the listener');
    });
    connection.connection.publish('news', 'own');
    await connection.connection.flush();
    for (const one of ['a', 'b', 'c']) other.publish('news', one);
    await until(() => received.length === 3);
    expect(received).toEqual(['a', 'b', 'c']);
  });

  it('reports refused subscriptions, and receives their messages once the accounts allow it (slow)', async () => {
    const users = (subjects: string): string =>
      `authorization { users: [{ user: "a", password: "a", permissions: { subscribe: ${subjects}, publish: ">" } }] }`;
    const nats = closing(await startNats({ config: users('["other"]') }), (one) => one.stop());
    const settings = { url: nats.url, name: 'test', user: 'a', password: 'a' };
    const connection = closing(await Nats.connect(settings, silentLogger()), (one) => one.close(1_000));
    const other = closing(await connect({ servers: nats.url, user: 'a', pass: 'a' }), (one) => one.close());
    const received: string[] = [];
    connection.listen('news', (message) => received.push(message.string()), { queue: 'test' });
    await until(() => connection.refusedSubjects.includes('news'));
    await nats.reconfigure(users('["other", "news test"]'));
    await until(() => connection.isUp && connection.refusedSubjects.length === 0);
    await until(() => {
      other.publish('news', 'x');
      return received.length > 0;
    });
  });

  it('leaves a server that vanished while its buffers were full, and reconnects (slow)', async () => {
    const nats = closing(await startNats(), (one) => one.stop());
    const proxy = closing(await startProxy({ host: '127.0.0.1', port: Number(new URL(nats.url).port) }), (one) => one.stop());
    const caller = closing(
      await TestClient.connect(`nats://127.0.0.1:${proxy.port}`, { pingIntervalMs: 150 }),
      (one) => one.close(),
    );
    proxy.stall();
    for (let n = 0; n < 40; n++) caller.nats.connection.publish('rpc.stub.gateway', Buffer.alloc(900_000));
    await until(() => !caller.nats.isUp);
    expect(await codeOf(caller.client.call(writeJob, { name: 'a' }, contextFor()))).toBe('unavailable');
    await until(() => caller.nats.isUp);
    closing(await StubService.start(nats.url), (one) => one.close());
    await until(async () => (await codeOf(caller.client.call(writeJob, { name: 'a' }, contextFor()))) === 'answered');
  });

  it('that stalls is replaced within the documented 5 s (slow)', async () => {
    const nats = closing(await startNats(), (one) => one.stop());
    const proxy = closing(await startProxy({ host: '127.0.0.1', port: Number(new URL(nats.url).port) }), (one) => one.stop());
    closing(await StubService.start(nats.url), (one) => one.close());
    const caller = closing(await TestClient.connect(`nats://127.0.0.1:${proxy.port}`), (one) => one.close());
    const call = (): Promise<string> => codeOf(caller.client.call(writeJob, { name: 'a' }, contextFor(300)));
    await until(async () => (await call()) === 'answered');
    proxy.stall();
    const stalledAt = performance.now();
    expect(await call()).toBe('outcome-unknown');
    await until(async () => (await call()) === 'answered');
    expect(performance.now() - stalledAt).toBeLessThan(5_000);
  });

  it('closes within its limit when the server does not respond', async () => {
    const nats = closing(await startNats(), (one) => one.stop());
    const connection = await Nats.connect({ url: nats.url, name: 'test' }, silentLogger());
    connection.listen('news', () => undefined);
    await connection.connection.flush();
    await nats.pause();
    const started = performance.now();
    await connection.close(200);
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(connection.connection.isClosed()).toBe(true);
    expect(connection.isUp).toBe(false);
    nats.resume();
  });

  it('sends published messages before it closes', async () => {
    const nats = closing(await startNats(), (one) => one.stop());
    const listener = closing(await connect({ servers: nats.url }), (one) => one.close());
    let received = 0;
    listener.subscribe('news', {
      callback: () => {
        received += 1;
      },
    });
    await listener.flush();
    const connection = await Nats.connect({ url: nats.url, name: 'test' }, silentLogger());
    for (let n = 0; n < 1_000; n++) connection.connection.publish('news', 'x');
    await connection.close(5_000);
    await until(() => received === 1_000);
  });
});

describe('a graceful shutdown', () => {
  let nats: TestNats;
  let caller: TestClient;
  beforeEach(async () => {
    nats = closing(await startNats(), (one) => one.stop());
    caller = closing(await TestClient.connect(nats.url), (one) => one.close());
  });
  const call = (name: string, context: RpcContext = contextFor()): Promise<string> =>
    codeOf(caller.client.call(writeJob, { name }, context));

  it('answers calls in progress; later calls are unavailable at once', async () => {
    const gate = new Gate();
    const handled: string[] = [];
    const service = closing(
      await StubService.start(nats.url, {
        writeJob: async ({ name }) => {
          handled.push(name);
          await gate.passed;
        },
      }),
      (one) => one.nats.close(1_000),
    );
    const inProgress = call('in progress');
    await until(() => handled.length === 1);
    await service.server.stopAccepting();
    expect(await call('late')).toBe('unavailable');
    expect(await service.server.finish(50)).toBe(1);
    const finished = service.server.finish(10_000);
    gate.open();
    expect(await finished).toBe(0);
    expect(await inProgress).toBe('answered');
    expect(handled).toEqual(['in progress']);
  });

  it('handles calls that were in transit when the service stopped accepting', async () => {
    const proxy = closing(await startProxy({ host: '127.0.0.1', port: Number(new URL(nats.url).port) }), (one) => one.stop());
    const service = closing(await StubService.start(`nats://127.0.0.1:${proxy.port}`), (one) => one.close());
    proxy.deafen();
    const inTransit = call('x');
    // Ends the turn, which sends the batch. The server passes the batch on to the replica before it answers the flush.
    await new Promise((resolve) => setImmediate(resolve));
    await caller.nats.connection.flush();
    const stopped = service.server.stopAccepting();
    proxy.hear();
    await stopped;
    expect(await inTransit).toBe('answered');
  });

  it('of one replica loses no call: it answers the calls that reached it, and another replica gets the rest', async () => {
    const slow = async (): Promise<object> => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      return { done: 'x' };
    };
    const replicas = [await StubService.start(nats.url, { writeJob: slow }), await StubService.start(nats.url, { writeJob: slow })];
    closing(replicas[1]!, (one) => one.close());
    const calls: Promise<string>[] = [];
    const pump = setInterval(() => {
      for (let n = 0; n < 5; n++) calls.push(call('x'));
    }, 1);
    await until(() => calls.length > 200);
    await replicas[0]!.close();
    const callsSoFar = calls.length;
    await until(() => calls.length > callsSoFar + 200);
    clearInterval(pump);
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['answered']));
  });
});
