import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { until } from '@plant-shop/testing/until';
import { contextFor } from './context.spec.fixture.js';
import { type AnswerMeta, type CallMeta, decodeBatch, encodeEntry, encodeBatch, batchKinds } from './batch.js';
import { processNow } from './context.js';
import { silentLogger, StubService, TestClient, writeJob } from './stub-service.spec.fixture.js';

// Processes on hosts whose clocks differ, and processes that are stopped while calls to them are in transit.

const minutes = 60_000;
/** One of each sign and size; caller-clock.spec.ts has the others. */
const skews = [1_500, -10 * minutes];

class Process {
  /** Lines that the process printed. */
  readonly output: string[] = [];

  private constructor(readonly child: ChildProcess) {
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => void this.output.push(line));
  }

  static async start(role: 'stub' | 'caller', natsUrl: string, aheadMs: number): Promise<Process> {
    const file = fileURLToPath(new URL('../../dist/rpc/rpc-process.spec.fixture.js', import.meta.url));
    const one = new Process(spawn(process.execPath, [file, role, natsUrl, String(aheadMs)], { stdio: ['pipe', 'pipe', 'inherit'] }));
    await until(() => one.output.includes('ready'));
    return one;
  }

  /** Names of the jobs that the process handled. */
  get handled(): string[] {
    return this.output.filter((line) => line.startsWith('work ')).map((line) => line.slice(5));
  }

  send(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  async pause(): Promise<void> {
    this.child.kill('SIGSTOP');
    if (process.platform !== 'linux') await pause(200);
    else await until(async () => / [Tt] /.test((await readFile(`/proc/${this.child.pid ?? 0}/stat`, 'utf8')).replace(/^.*\)/, '')));
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }
}

let nats: TestNats;
let processes: Process[];
let callers: TestClient[];
let services: StubService[];
beforeEach(async () => {
  nats = await startNats();
  [processes, callers, services] = [[], [], []];
});
afterEach(async () => {
  for (const one of processes) await one.kill();
  for (const one of callers) await one.close();
  for (const one of services) await one.close();
  await nats.stop();
});
const startProcess = async (role: 'stub' | 'caller', aheadMs = 0): Promise<Process> => {
  const one = await Process.start(role, nats.url, aheadMs);
  processes.push(one);
  return one;
};
const newCaller = async (): Promise<TestClient> => {
  const one = await TestClient.connect(nats.url);
  callers.push(one);
  return one;
};
const startService: typeof StubService.start = async (...args) => {
  const one = await StubService.start(...args);
  services.push(one);
  return one;
};
const callStub = (caller: TestClient, name: string, budgetMs = 5_000): Promise<unknown> =>
  caller.client.call(writeJob, { name }, contextFor(budgetMs));
/** Expects that the service handled exactly these jobs, in this order. Its output may arrive after its answer. */
const expectHandled = async (service: Process, names: readonly string[]): Promise<void> => {
  await until(() => service.handled.length >= names.length);
  expect(service.handled).toEqual(names);
};
const unknownOutcome = { code: 'outcome-unknown' };

describe('a caller whose clock differs', () => {
  it.each(skews)('by %i ms is answered within its budget', async (aheadMs) => {
    const left: number[] = [];
    const service = await startService(nats.url, { writeJob: ({ name }, { deadline }) => (left.push(deadline.leftMs), { done: name }) });
    const caller = await startProcess('caller', aheadMs);
    for (let n = 0; n < 10; n++) caller.send(`job${n} 20000`);
    await until(() => caller.output.length === 11);
    expect(caller.output.slice(1).every((line) => line.endsWith(' done'))).toBe(true);
    expect(Math.min(...left)).toBeGreaterThan(15_000);
    expect(Math.max(...left)).toBeLessThanOrEqual(20_000);
    const skewMs = service.server.callerSkews().get('gateway') ?? NaN;
    expect(Math.abs(skewMs - aheadMs)).toBeLessThan(250);
  });

  it.each(skews)('by a step of %i ms while it runs is still answered', async (stepMs) => {
    await startService(nats.url);
    const caller = await startProcess('caller');
    caller.send('before 5000');
    await until(() => caller.output.includes('before done'));
    caller.send(`step ${stepMs}`);
    for (let n = 0; n < 10; n++) caller.send(`job${n} 5000`);
    await until(() => caller.output.length === 12);
    expect(caller.output.slice(2).every((line) => line.endsWith(' done'))).toBe(true);
  });

  it('by more than the documented limit is logged once', async () => {
    const logger = silentLogger();
    const warn = jest.spyOn(logger, 'warn');
    await startService(nats.url, {}, {}, logger);
    const caller = await startProcess('caller', 11 * minutes);
    for (const name of ['a', 'b', 'c']) {
      caller.send(`${name} 5000`);
      await until(() => caller.output.includes(`${name} done`));
    }
    expect(warn.mock.calls).toEqual([[{ peer: 'gateway', aheadSeconds: expect.closeTo(660, 0) }, 'clock skew exceeds the supported limit']]);
  });
});

describe.each([0, -10 * minutes])('a service whose clock is %i ms ahead', (aheadMs) => {
  it('does not handle calls that expired in its socket while it was stopped', async () => {
    const service = await startProcess('stub', aheadMs);
    const caller = await newCaller();
    await callStub(caller, 'first');
    await service.pause();
    const expired = ['a', 'b', 'c'].map((name) => callStub(caller, name, 300));
    for (const one of expired) await expect(one).rejects.toMatchObject(unknownOutcome);
    await pause(200);
    service.resume();
    await callStub(caller, 'in time');
    await expectHandled(service, ['first', 'in time']);
  });

  it('does not handle expired calls if it was stopped before the first batch of the caller', async () => {
    const service = await startProcess('stub', aheadMs);
    const caller = await newCaller();
    await service.pause();
    await expect(callStub(caller, 'expired', 300)).rejects.toMatchObject(unknownOutcome);
    await pause(200);
    const inTime = callStub(caller, 'in time', 20_000);
    await pause(50);
    service.resume();
    await inTime;
    await expectHandled(service, ['in time']);
  });

  it('does not handle calls that expired in NATS', async () => {
    const service = await startProcess('stub', aheadMs);
    const [caller, newcomer] = [await newCaller(), await newCaller()];
    await callStub(caller, 'first');
    await nats.pause();
    const expired = [caller, newcomer].map((one) => callStub(one, 'expired', 300));
    for (const one of expired) await expect(one).rejects.toMatchObject(unknownOutcome);
    await pause(200);
    nats.resume();
    for (const one of [caller, newcomer]) await callStub(one, 'in time', 10_000);
    await expectHandled(service, ['first', 'in time', 'in time']);
  });
});

describe('a caller', () => {
  it('that was killed gets no answer: its call is not handled', async () => {
    const service = await startProcess('stub');
    const [caller, killed] = [await newCaller(), await startProcess('caller')];
    await service.pause();
    killed.send('orphaned 60000');
    await pause(200);
    await killed.kill();
    service.resume();
    await callStub(caller, 'in time', 10_000);
    await callStub(caller, 'later', 10_000);
    await expectHandled(service, ['in time', 'later']);
  });

  it('that does not reply with its clock is answered; calls that expire while the service is stopped are dropped', async () => {
    const raw = await connect({ servers: nats.url });
    const answered: number[] = [];
    raw.subscribe('reply.gateway.before.stub.*', {
      callback: (_, { data }) => {
        const { kind, entries } = decodeBatch<{ id?: number; error?: object }>(data);
        if (kind === batchKinds.answers) for (const { meta } of entries) if (meta.id !== undefined && !meta.error) answered.push(meta.id);
      },
    });
    const send = (id: number, budgetMs: number): void => {
      const deadline = Date.now() + 10 * minutes + budgetMs;
      const call: CallMeta = { id, op: 'writeJob', request: 'r', budgetMs, deadline };
      const entry = encodeEntry(call, Buffer.from(JSON.stringify({ name: String(id) })));
      raw.publish('rpc.stub.gateway', encodeBatch(batchKinds.calls, [entry]), { reply: `reply.gateway.before.stub.${id}` });
    };
    const service = await startProcess('stub');
    try {
      send(1, 5_000);
      await until(() => answered.includes(1));
      await service.pause();
      send(2, 300);
      await raw.flush();
      await pause(600);
      service.resume();
      send(3, 5_000);
      await until(() => answered.includes(3));
      await expectHandled(service, ['1', '3']);
    } finally {
      await raw.close();
    }
  });

  it('that lost its connection is not answered, and is measured again when it is back', async () => {
    const service = await startProcess('stub');
    const raw = await connect({ servers: nats.url });
    try {
      const answer = async (id: number): Promise<string> => {
        const reply = `reply.gateway.raw.stub.${id}`;
        const answers = raw.subscribe(reply, { max: 1 });
        const call: CallMeta = { id, op: 'writeJob', request: 'r', budgetMs: 5_000, deadline: processNow() + 5_000 };
        raw.publish('rpc.stub.gateway', encodeBatch(batchKinds.calls, [encodeEntry(call, Buffer.from(`{"name":"${id}"}`))]), { reply });
        for await (const { data } of answers) return decodeBatch<AnswerMeta>(data).entries[0]?.meta.error?.code ?? 'done';
        return 'none';
      };
      // Receives its answer, but no clock requests.
      expect(await answer(1)).toBe('unavailable');
      raw.subscribe('reply.gateway.raw.stub.clock', {
        callback: (_, { reply = '' }) => {
          raw.publish(reply, encodeBatch(batchKinds.clockReading, [encodeEntry({ clock: processNow(), wall: Date.now() })]));
        },
      });
      expect(await answer(2)).toBe('done');
      await expectHandled(service, ['2']);
    } finally {
      await raw.close();
    }
  });
});
