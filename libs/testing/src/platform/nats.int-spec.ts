import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { type RpcContext } from '@plant-shop/platform/rpc/context';
import { startNats, type TestNats } from '../nats.js';
import { startProxy } from '../proxy.js';
import { contextFor } from '../service.js';
import { until } from '../until.js';
import { Gate, readJob, silentLogger, StubService, TestClient, writeJob } from './stub-service.js';

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'answered',
    (error: unknown) => (error as { code?: string }).code ?? String(error),
  );

/** What a test opened, closed in the opposite order whether it passed or not. */
const closers: (() => Promise<void>)[] = [];
const closing = <T>(thing: T, close: (thing: T) => Promise<void>): T => {
  closers.unshift(() => close(thing));
  return thing;
};
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

describe('while the NATS server is away', () => {
  let nats: TestNats;
  let caller: TestClient;
  let service: StubService;
  let worked: string[];
  let gate: Gate;
  beforeEach(async () => {
    worked = [];
    gate = new Gate();
    nats = closing(await startNats(), (one) => one.stop());
    service = closing(
      await StubService.start(nats.url, {
        writeJob: async ({ name }) => {
          worked.push(name);
          if (name === 'slow') await gate.passed;
          return { done: name };
        },
      }),
      (one) => one.close(),
    );
    caller = closing(await TestClient.connect(nats.url), (one) => one.close());
  });
  const call = (name: string, budgetMs?: number): Promise<string> =>
    codeOf(caller.client.call(writeJob, { name }, contextFor(undefined, budgetMs)));
  const away = async (): Promise<void> => {
    await nats.stop();
    await until(() => !caller.nats.isUp && !service.nats.isUp);
  };
  const back = async (): Promise<void> => {
    await nats.restart();
    await until(async () => (await call('probe', 1_000)) === 'answered');
  };

  it('calls are unavailable at once, and answered again after its return by itself, empty as it is', async () => {
    await away();
    const started = performance.now();
    expect(await call('a')).toBe('unavailable');
    expect(await codeOf(caller.client.call(readJob, { name: 'a' }, contextFor()))).toBe('unavailable');
    expect(performance.now() - started).toBeLessThan(2_000);
    await back();
    expect(await call('b')).toBe('answered');
    expect(worked).not.toContain('a');
  });

  it('nothing is kept back that was answered unavailable: it would be carried out after its return', async () => {
    await away();
    // Long enough for several attempts to connect: the client forgets at each what was published before it.
    const refused: string[] = [];
    let restarted: Promise<void> | undefined;
    for (let n = 0; n < 50; n++) {
      refused.push(await call(`ghost ${n}`));
      await new Promise((resolve) => setTimeout(resolve, 15));
      if (n === 35) restarted = nats.restart();
    }
    await restarted;
    await until(async () => (await call('probe', 1_000)) === 'answered');
    expect(refused).toContain('unavailable');
    const carriedOut = refused.filter((code, n) => code === 'unavailable' && worked.includes(`ghost ${n}`));
    expect(carriedOut).toEqual([]);
  });

  it('a call made in the turn in which it goes away is unavailable and never carried out', async () => {
    const gone = (async () => {
      for await (const status of caller.nats.connection.status()) if (status.type === 'disconnect') return;
    })();
    const calls: Promise<string>[] = [];
    const pump = setInterval(() => calls.push(call(`n${calls.length}`, 400)), 1);
    await nats.stop();
    await gone;
    clearInterval(pump);
    const lost = await Promise.all(calls);
    await back();
    expect(lost.filter((code, n) => code === 'unavailable' && worked.includes(`n${n}`))).toEqual([]);
    expect(lost.filter((code) => !['answered', 'unavailable', 'outcome-unknown'].includes(code))).toEqual([]);
  });

  it('a call under way ends as outcome-unknown, or is answered when both find the server again in time', async () => {
    const lost = call('slow', 500);
    const kept = call('slow', 20_000);
    await until(() => worked.length === 2);
    await away();
    expect(await lost).toBe('outcome-unknown');
    await back();
    gate.open();
    expect(await kept).toBe('answered');
    expect(worked.filter((one) => one === 'slow')).toHaveLength(2);
  });
});

describe('a connection', () => {
  it('waits for a server that is not there yet, and says so', async () => {
    const log: string[] = [];
    const nats = closing(await startNats(), (one) => one.stop());
    await nats.stop();
    const connecting = Nats.connect(
      { url: nats.url, name: 'early' },
      createLogger('test', 'warn', { write: (line: string) => void log.push(line) }),
    );
    await until(() => log.some((line) => line.includes('nats not there yet')));
    await nats.restart();
    const connection = closing(await connecting, (one) => one.close(1_000));
    expect(connection.isUp).toBe(true);
  });

  it('that is refused for its password says so without it, and gets in once the server lets it', async () => {
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
    ['its address asks for it', { scheme: 'tls:' }],
    ['it is told whose certificates count', { scheme: 'nats:', ca: fileURLToPath(import.meta.url) }],
  ])('refuses to speak without TLS when %s', async (_, { scheme, ...authority }) => {
    const log: string[] = [];
    const nats = closing(await startNats(), (one) => one.stop());
    const enough = new AbortController();
    const connecting = Nats.connect(
      { url: nats.url.replace('nats:', scheme), name: 'store', ...authority },
      createLogger('test', 'warn', { write: (line: string) => void log.push(line) }),
      enough.signal,
    );
    await until(() => log.some((line) => line.includes("does not support 'tls'")));
    enough.abort(new Error('enough'));
    await expect(connecting).rejects.toThrow('enough');
  });

  it('goes on reading after a listener failed', async () => {
    const nats = closing(await startNats(), (one) => one.stop());
    const connection = closing(await Nats.connect({ url: nats.url, name: 'test' }, silentLogger()), (one) => one.close(1_000));
    const heard: string[] = [];
    connection.listen('news', (message) => {
      heard.push(message.string());
      if (heard.length === 1) throw new Error('a defect of the listener');
    });
    for (const one of ['a', 'b', 'c']) connection.connection.publish('news', one);
    await until(() => heard.length === 3);
    expect(heard).toEqual(['a', 'b', 'c']);
  });

  it('knows what its accounts do not let it hear, and hears it once they do', async () => {
    const users = (subjects: string): string =>
      `authorization { users: [{ user: "a", password: "a", permissions: { subscribe: ${subjects}, publish: ">" } }] }`;
    const nats = closing(await startNats({ config: users('["other"]') }), (one) => one.stop());
    const settings = { url: nats.url, name: 'test', user: 'a', password: 'a' };
    const connection = closing(await Nats.connect(settings, silentLogger()), (one) => one.close(1_000));
    const heard: string[] = [];
    connection.listen('news', (message) => heard.push(message.string()), { queue: 'test' });
    await until(() => connection.refusedSubjects.includes('news'));
    await nats.reconfigure(users('["other", "news test"]'));
    await until(() => connection.isUp && connection.refusedSubjects.length === 0);
    await until(() => {
      if (connection.isUp) connection.connection.publish('news', 'x');
      return heard.length > 0;
    });
  });

  it('leaves a server that vanished with full buffers behind it, and finds it again', async () => {
    const nats = closing(await startNats(), (one) => one.stop());
    const proxy = closing(await startProxy({ host: '127.0.0.1', port: Number(new URL(nats.url).port) }), (one) => one.stop());
    const caller = closing(
      await TestClient.connect(`nats://127.0.0.1:${proxy.port}`, { pingIntervalMs: 150 }),
      (one) => one.close(),
    );
    proxy.stall();
    for (let n = 0; n < 40; n++) caller.nats.connection.publish('rpc.stub', Buffer.alloc(900_000));
    await until(() => !caller.nats.isUp);
    expect(await codeOf(caller.client.call(writeJob, { name: 'a' }, contextFor()))).toBe('unavailable');
    await until(() => caller.nats.isUp);
    closing(await StubService.start(nats.url), (one) => one.close());
    await until(async () => (await codeOf(caller.client.call(writeJob, { name: 'a' }, contextFor()))) === 'answered');
  });

  it('that stalls is left, and made anew, within the 5 s that are promised', async () => {
    const nats = closing(await startNats(), (one) => one.stop());
    const proxy = closing(await startProxy({ host: '127.0.0.1', port: Number(new URL(nats.url).port) }), (one) => one.stop());
    closing(await StubService.start(nats.url), (one) => one.close());
    const caller = closing(await TestClient.connect(`nats://127.0.0.1:${proxy.port}`), (one) => one.close());
    const call = (): Promise<string> => codeOf(caller.client.call(writeJob, { name: 'a' }, contextFor(undefined, 300)));
    await until(async () => (await call()) === 'answered');
    proxy.stall();
    const from = performance.now();
    expect(await call()).toBe('outcome-unknown');
    await until(async () => (await call()) === 'answered');
    expect(performance.now() - from).toBeLessThan(5_000);
  });

  it('closes within its limit when the server says nothing any more', async () => {
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

  it('sends what was published before it closes', async () => {
    const nats = closing(await startNats(), (one) => one.stop());
    const listener = closing(await connect({ servers: nats.url }), (one) => one.close());
    let heard = 0;
    listener.subscribe('news', {
      callback: () => {
        heard += 1;
      },
    });
    await listener.flush();
    const connection = await Nats.connect({ url: nats.url, name: 'test' }, silentLogger());
    for (let n = 0; n < 1_000; n++) connection.connection.publish('news', 'x');
    await connection.close(5_000);
    await until(() => heard === 1_000);
  });
});

describe('an ordered end', () => {
  let nats: TestNats;
  let caller: TestClient;
  beforeEach(async () => {
    nats = closing(await startNats(), (one) => one.stop());
    caller = closing(await TestClient.connect(nats.url), (one) => one.close());
  });
  const call = (name: string, context: RpcContext = contextFor()): Promise<string> =>
    codeOf(caller.client.call(writeJob, { name }, context));

  it('answers what is under way, and refuses what comes later as unavailable, at once', async () => {
    const gate = new Gate();
    const worked: string[] = [];
    const service = closing(
      await StubService.start(nats.url, {
        writeJob: async ({ name }) => {
          worked.push(name);
          await gate.passed;
        },
      }),
      (one) => one.nats.close(1_000),
    );
    const underWay = call('under way');
    await until(() => worked.length === 1);
    await service.server.stopAccepting();
    expect(await call('late')).toBe('unavailable');
    expect(await service.server.finish(50)).toBe(1);
    const finished = service.server.finish(10_000);
    gate.open();
    expect(await finished).toBe(0);
    expect(await underWay).toBe('answered');
    expect(worked).toEqual(['under way']);
  });

  it('carries out what was already on its way when it stopped accepting', async () => {
    const proxy = closing(await startProxy({ host: '127.0.0.1', port: Number(new URL(nats.url).port) }), (one) => one.stop());
    const service = closing(await StubService.start(`nats://127.0.0.1:${proxy.port}`), (one) => one.close());
    proxy.deafen();
    const onItsWay = call('x');
    // The turn ends, the frame leaves, and the server has handed it to the replica before it answers this.
    await new Promise((resolve) => setImmediate(resolve));
    await caller.nats.connection.flush();
    const stopped = service.server.stopAccepting();
    proxy.hear();
    await stopped;
    expect(await onItsWay).toBe('answered');
  });

  it('of one replica loses no call: what had reached it is answered, the rest goes to the other', async () => {
    const slowly = async (): Promise<object> => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      return { done: 'x' };
    };
    const replicas = [await StubService.start(nats.url, { writeJob: slowly }), await StubService.start(nats.url, { writeJob: slowly })];
    closing(replicas[1]!, (one) => one.close());
    const calls: Promise<string>[] = [];
    const pump = setInterval(() => {
      for (let n = 0; n < 5; n++) calls.push(call('x'));
    }, 1);
    await until(() => calls.length > 200);
    await replicas[0]!.close();
    const atTheEnd = calls.length;
    await until(() => calls.length > atTheEnd + 200);
    clearInterval(pump);
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['answered']));
  });
});
