import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Controller, Module, type OnApplicationShutdown } from '@nestjs/common';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { freePort } from '@plant-shop/testing/port';
import { createEmptyDatabase } from '@plant-shop/testing/postgres';
import { startProxy } from '@plant-shop/testing/proxy';
import { until } from '@plant-shop/testing/until';
import { createLogger } from '../logging.js';
import { Database, type DatabaseSettings } from '../postgres/database.js';
import { Answers } from '../rpc/answers.decorator.js';
import { Gate, type Job, TestClient, writeJob } from '../rpc/stub-service.spec.fixture.js';
import { readinessOf, type ReadinessReport } from './readiness.js';
import { Service, type ServiceConfig } from './service.js';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

describe('a service', () => {
  let nats: TestNats;
  let opsPort: number;
  let caller: TestClient;
  let events: string[];
  let gate: Gate;

  @Controller()
  class StubController implements OnApplicationShutdown {
    @Answers(writeJob)
    async writeJob({ name }: Job): Promise<{ done: string }> {
      events.push(`began ${name}`);
      await gate.passed;
      events.push(`ended ${name}`);
      return { done: name };
    }
    onApplicationShutdown(): void {
      events.push('background work stopped');
    }
  }
  @Module({ controllers: [StubController] })
  class StubModule {}

  beforeEach(async () => {
    events = [];
    gate = new Gate();
    nats = await startNats();
    opsPort = await freePort();
    caller = await TestClient.connect(nats.url);
    closers.push(() => caller.close(), () => nats.stop());
  });
  const config = (natsUrl: string): ServiceConfig => ({
    nodeEnv: 'test',
    logLevel: 'error',
    natsUrl,
    natsCa: '',
    natsUser: '',
    natsPassword: '',
    opsHost: '127.0.0.1',
    opsPort,
  });
  const embedded = async (): Promise<Service> => {
    const service = await Service.embedded('stub', config(nats.url));
    closers.unshift(() => service.stop());
    return service;
  };
  const readyz = async (): Promise<{ status: number; checks: ReadinessReport['checks'] }> => {
    const answer = await fetch(`http://127.0.0.1:${opsPort}/readyz`, { headers: { connection: 'close' } });
    return { status: answer.status, checks: ((await answer.json()) as ReadinessReport).checks };
  };
  const isReady = async (): Promise<boolean> => (await readyz()).status === 200;

  it('is ready when it answers calls, and reports it over NATS too', async () => {
    const service = await embedded();
    await until(async () => (await readyz()).checks['nats'] === 'ok');
    expect(await readyz()).toEqual({ status: 503, checks: { start: 'still starting', nats: 'ok' } });
    await service.answer(StubModule, { maxInFlight: 10 });
    expect(await isReady()).toBe(true);
    await expect(caller.call(readinessOf('stub'), {})).resolves.toEqual({ ready: true, checks: { start: 'ok', nats: 'ok' } });
  });

  it('starts even if its connection stalls before its subscription (slow)', async () => {
    const proxy = await startProxy({ host: '127.0.0.1', port: Number(new URL(nats.url).port) });
    closers.push(() => proxy.stop());
    const service = await Service.embedded('stub', config(`nats://127.0.0.1:${proxy.port}`));
    closers.unshift(() => service.stop());
    // The subscription never arrives on this connection, until the client reconnects.
    proxy.stall();
    await service.answer(StubModule, { maxInFlight: 10 });
    await until(isReady);
    gate.open();
    await expect(caller.call(writeJob, { name: 'a' })).resolves.toEqual({ done: 'a' });
  });

  it('is ready after a reconnection only once NATS has its subscriptions again (slow)', async () => {
    const proxy = await startProxy({ host: '127.0.0.1', port: Number(new URL(nats.url).port) });
    closers.push(() => proxy.stop());
    const service = await Service.embedded('stub', config(`nats://127.0.0.1:${proxy.port}`));
    closers.unshift(() => service.stop());
    await service.answer(StubModule, { maxInFlight: 10 });
    gate.open();
    // The connection is up before the subscriptions have been sent.
    proxy.slowDown(500);
    proxy.drop();
    await until(async () => !(await isReady()));
    await until(isReady);
    await expect(caller.call(writeJob, { name: 'a' })).resolves.toEqual({ done: 'a' });
  });

  it('is not ready while NATS is unreachable, and ready again after its return', async () => {
    await (await embedded()).answer(StubModule, { maxInFlight: 10 });
    await nats.stop();
    await until(async () => (await readyz()).checks['nats'] === 'not connected');
    await nats.restart();
    await until(isReady);
  });

  it('counts its answers by operation and code', async () => {
    await (await embedded()).answer(StubModule, { maxInFlight: 10 });
    gate.open();
    await caller.call(writeJob, { name: 'a' });
    await caller.call(writeJob, { name: 5 } as never).catch(() => undefined);
    const metrics = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`, { headers: { connection: 'close' } })).text();
    expect(metrics).toContain('rpc_operation_duration_seconds_count{service="stub",operation="writeJob",code="ok"} 1');
    expect(metrics).toContain('rpc_operation_duration_seconds_count{service="stub",operation="writeJob",code="invalid-input"} 1');
    expect(metrics).toContain('rpc_in_flight{service="stub"} 0');
  });

  it('shuts down in order: not ready, no new calls, calls finished, background work stopped, connections closed', async () => {
    const service = await embedded();
    await service.answer(StubModule, { maxInFlight: 10 });
    service.beforeClose({ name: 'mark', limitMs: 100, run: () => void events.push('before connections close') });
    const inProgress = caller.call(writeJob, { name: 'a' });
    await until(() => events.length === 1);
    const stopped = service.stop().then(() => events.push('stopped'));
    await until(async () => (await readyz()).checks['shutdown'] === 'draining');
    await until(async () => {
      const late = caller.call(writeJob, { name: 'late' }).catch((error: unknown) => (error as { code: string }).code);
      return (await Promise.race([late, new Promise((resolve) => setTimeout(resolve, 200))])) === 'unavailable';
    });
    gate.open();
    await expect(inProgress).resolves.toEqual({ done: 'a' });
    await stopped;
    const own = events.filter((event) => !event.endsWith('late'));
    expect(own).toEqual(['began a', 'ended a', 'before connections close', 'background work stopped', 'stopped']);
    await expect(readyz()).rejects.toThrow();
    expect(service.stop()).toBe(service.stop());
  });

  it('waits for a database with the schema of its build, and reports what it waits for (slow)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'migrations-'));
    await writeFile(join(folder, '1764000000001-first.sql'), 'CREATE TABLE a (id int)');
    const test = await createEmptyDatabase();
    closers.push(() => test.disconnect(), () => rm(folder, { recursive: true }));
    const settings: DatabaseSettings = {
      url: test.url,
      applicationName: 'stub',
      poolSize: 2,
      migrations: pathToFileURL(`${folder}/`),
    };
    const service = await embedded();
    const waiting = service.useDatabase(settings);
    await until(async () => (await readyz()).checks['schema'] === 'migrations are pending: run migrate');
    await Database.migrate(settings, createLogger('test', 'silent'));
    await waiting;
    await service.answer(StubModule, { maxInFlight: 10 });
    expect(await isReady()).toBe(true);
  });

  it.each([[true, false], [false, true]])('does not start if its mode (sandbox: %s) is not that of its database, nor is that migrated', async (sandbox, other) => {
    const folder = await mkdtemp(join(tmpdir(), 'migrations-'));
    await writeFile(
      join(folder, '1764000000001-first.sql'),
      `CREATE TABLE database_mode AS SELECT current_setting('shop.sandbox')::boolean AS sandbox`,
    );
    const test = await createEmptyDatabase();
    closers.push(() => test.disconnect(), () => rm(folder, { recursive: true }));
    const settings: DatabaseSettings = { url: test.url, applicationName: 'stub', poolSize: 2, migrations: pathToFileURL(`${folder}/`), sandbox };
    const logger = createLogger('test', 'silent');
    await Database.migrate(settings, logger);
    const reason = sandbox ? /^SANDBOX is not true/ : /^SANDBOX is true/;
    await expect((await embedded()).useDatabase({ ...settings, sandbox: other })).rejects.toThrow(reason);
    await expect(Database.migrate({ ...settings, sandbox: other }, logger)).rejects.toThrow(reason);
    await expect(Database.migrate(settings, logger)).resolves.toEqual([]);
  });

  it('can be stopped while it waits for its database', async () => {
    const service = await embedded();
    const url = `postgres://someone:canary@127.0.0.1:${await freePort()}/x`;
    const waiting = service.useDatabase({
      url,
      applicationName: 'stub',
      poolSize: 1,
      migrations: new URL('.', import.meta.url),
    });
    await until(async () => (await readyz()).checks['database']?.includes('ECONNREFUSED') ?? false);
    expect(JSON.stringify(await readyz())).not.toContain('canary');
    await service.stop();
    await expect(waiting).rejects.toThrow('stopped while starting');
  });
});
