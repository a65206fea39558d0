import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { type AnswerMeta, type CallMeta, decodeFrame, encodeEntry, encodeFrame, frameKinds } from '@plant-shop/platform/rpc/frame';
import { processNow } from '@plant-shop/platform/rpc/process-clock';
import { startNats, type TestNats } from '../nats.js';
import { contextFor } from '../service.js';
import { until } from '../until.js';
import { Customer, silent, work, Workshop } from './workshop.js';

// Processes on hosts whose clocks differ, and processes that are stopped while calls are on their way to them.

const minutes = 60_000;
const skews = [1_500, -1_500, 10 * minutes, -10 * minutes];
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

class Process {
  readonly said: string[] = [];

  private constructor(readonly child: ChildProcess) {
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => void this.said.push(line));
  }

  static async start(part: 'workshop' | 'customer', natsUrl: string, aheadMs: number): Promise<Process> {
    const file = fileURLToPath(new URL('../../dist/platform/rpc-process.spec.fixture.js', import.meta.url));
    const one = new Process(spawn(process.execPath, [file, part, natsUrl, String(aheadMs)], { stdio: ['pipe', 'pipe', 'inherit'] }));
    await until(() => one.said.includes('ready'));
    return one;
  }

  get worked(): string[] {
    return this.said.filter((line) => line.startsWith('work ')).map((line) => line.slice(5));
  }

  tell(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  async stop(): Promise<void> {
    this.child.kill('SIGSTOP');
    if (process.platform !== 'linux') await pause(200);
    else await until(async () => / [Tt] /.test((await readFile(`/proc/${this.child.pid ?? 0}/stat`, 'utf8')).replace(/^.*\)/, '')));
  }

  goOn(): void {
    this.child.kill('SIGCONT');
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }
}

let nats: TestNats;
let processes: Process[];
let customers: Customer[];
let workshops: Workshop[];
beforeEach(async () => {
  nats = await startNats();
  [processes, customers, workshops] = [[], [], []];
});
afterEach(async () => {
  for (const one of processes) await one.end();
  for (const one of customers) await one.leave();
  for (const one of workshops) await one.close();
  await nats.stop();
});
const start = async (part: 'workshop' | 'customer', aheadMs = 0): Promise<Process> => {
  const one = await Process.start(part, nats.url, aheadMs);
  processes.push(one);
  return one;
};
const arrive = async (): Promise<Customer> => {
  const one = await Customer.arrive(nats.url);
  customers.push(one);
  return one;
};
const open: typeof Workshop.open = async (...args) => {
  const one = await Workshop.open(...args);
  workshops.push(one);
  return one;
};
const asks = (customer: Customer, name: string, budgetMs = 5_000): Promise<unknown> =>
  customer.client.call(work, { name }, contextFor(undefined, budgetMs));
/** Exactly these, in this order. What it says may come after its answer. */
const hasWorked = async (service: Process, names: readonly string[]): Promise<void> => {
  await until(() => service.worked.length >= names.length);
  expect(service.worked).toEqual(names);
};
const unknownOutcome = { code: 'outcome-unknown' };

describe('a caller whose clock differs', () => {
  it.each(skews)('by %i ms is answered, with the budget that it gave', async (aheadMs) => {
    const left: number[] = [];
    const workshop = await open(nats.url, { work: ({ name }, { deadline }) => (left.push(deadline.leftMs), { done: name }) });
    const caller = await start('customer', aheadMs);
    for (let n = 0; n < 10; n++) caller.tell(`job${n} 20000`);
    await until(() => caller.said.length === 11);
    expect(caller.said.slice(1).every((line) => line.endsWith(' done'))).toBe(true);
    expect(Math.min(...left)).toBeGreaterThan(15_000);
    expect(Math.max(...left)).toBeLessThanOrEqual(20_000);
    const skewMs = workshop.server.callerSkews().get('gateway') ?? NaN;
    expect(Math.abs(skewMs - aheadMs)).toBeLessThan(250);
  });

  it.each(skews)('by a step of %i ms while it runs is answered all the same', async (stepMs) => {
    await open(nats.url);
    const caller = await start('customer');
    caller.tell('before 5000');
    await until(() => caller.said.includes('before done'));
    caller.tell(`step ${stepMs}`);
    for (let n = 0; n < 10; n++) caller.tell(`job${n} 5000`);
    await until(() => caller.said.length === 12);
    expect(caller.said.slice(2).every((line) => line.endsWith(' done'))).toBe(true);
  });

  it('by more than is promised is named in the log, once', async () => {
    const logger = silent();
    const warn = jest.spyOn(logger, 'warn');
    await open(nats.url, {}, {}, logger);
    const caller = await start('customer', 11 * minutes);
    for (const name of ['a', 'b', 'c']) {
      caller.tell(`${name} 5000`);
      await until(() => caller.said.includes(`${name} done`));
    }
    expect(warn.mock.calls).toEqual([[{ peer: 'gateway', aheadSeconds: expect.closeTo(660, 0) }, 'clocks differ by more than is promised']]);
  });
});

describe.each([0, 10 * minutes, -10 * minutes])('a service that is %i ms ahead', (aheadMs) => {
  it('and was stopped carries out nothing that waited in its socket', async () => {
    const service = await start('workshop', aheadMs);
    const caller = await arrive();
    await asks(caller, 'first');
    await service.stop();
    const ghosts = ['a', 'b', 'c'].map((name) => asks(caller, name, 300));
    for (const ghost of ghosts) await expect(ghost).rejects.toMatchObject(unknownOutcome);
    await pause(200);
    service.goOn();
    await asks(caller, 'in time');
    await hasWorked(service, ['first', 'in time']);
  });

  it('and was stopped before it ever heard of the caller carries out nothing either', async () => {
    const service = await start('workshop', aheadMs);
    const caller = await arrive();
    await service.stop();
    await expect(asks(caller, 'ghost', 300)).rejects.toMatchObject(unknownOutcome);
    await pause(200);
    const inTime = asks(caller, 'in time', 20_000);
    await pause(50);
    service.goOn();
    await inTime;
    await hasWorked(service, ['in time']);
  });

  it('carries out nothing that waited in NATS', async () => {
    const service = await start('workshop', aheadMs);
    const [caller, stranger] = [await arrive(), await arrive()];
    await asks(caller, 'first');
    await nats.pause();
    const ghosts = [caller, stranger].map((one) => asks(one, 'ghost', 300));
    for (const ghost of ghosts) await expect(ghost).rejects.toMatchObject(unknownOutcome);
    await pause(200);
    nats.resume();
    for (const one of [caller, stranger]) await asks(one, 'in time', 10_000);
    await hasWorked(service, ['first', 'in time', 'in time']);
  });
});

describe('a caller', () => {
  it('that was killed is owed nothing: its call is not carried out', async () => {
    const service = await start('workshop');
    const [caller, killed] = [await arrive(), await start('customer')];
    await service.stop();
    killed.tell('ghost 60000');
    await pause(200);
    await killed.end();
    service.goOn();
    await asks(caller, 'in time', 10_000);
    await asks(caller, 'later', 10_000);
    await hasWorked(service, ['in time', 'later']);
  });

  it('of the release before, which does not tell its clock, is answered; what waits while the service is stopped is dropped', async () => {
    const raw = await connect({ servers: nats.url });
    const answered: number[] = [];
    raw.subscribe('reply.gateway.before.*', {
      callback: (_, { data }) => {
        const { kind, entries } = decodeFrame<{ id?: number; error?: object }>(data);
        if (kind === frameKinds.answers) for (const { meta } of entries) if (meta.id !== undefined && !meta.error) answered.push(meta.id);
      },
    });
    const send = (id: number, budgetMs: number): void => {
      const deadline = Date.now() + 10 * minutes + budgetMs;
      const call: CallMeta = { id, op: 'work', request: 'r', budgetMs, deadline };
      const entry = encodeEntry(call, Buffer.from(JSON.stringify({ name: String(id) })));
      raw.publish('rpc.workshop', encodeFrame(frameKinds.calls, [entry]), { reply: `reply.gateway.before.${id}` });
    };
    const service = await start('workshop');
    try {
      send(1, 5_000);
      await until(() => answered.includes(1));
      await service.stop();
      send(2, 300);
      await raw.flush();
      await pause(600);
      service.goOn();
      send(3, 5_000);
      await until(() => answered.includes(3));
      await hasWorked(service, ['1', '3']);
    } finally {
      await raw.close();
    }
  });

  it('that lost its connection is not answered, and is measured anew when it is back', async () => {
    const service = await start('workshop');
    const raw = await connect({ servers: nats.url });
    try {
      const answer = async (id: number): Promise<string> => {
        const reply = `reply.gateway.raw.${id}`;
        const answers = raw.subscribe(reply, { max: 1 });
        const call: CallMeta = { id, op: 'work', request: 'r', budgetMs: 5_000, deadline: processNow() + 5_000 };
        raw.publish('rpc.workshop', encodeFrame(frameKinds.calls, [encodeEntry(call, Buffer.from(`{"name":"${id}"}`))]), { reply });
        for await (const { data } of answers) return decodeFrame<AnswerMeta>(data).entries[0]?.meta.error?.code ?? 'done';
        return 'none';
      };
      // It hears its answer, and not the request for its clock.
      expect(await answer(1)).toBe('unavailable');
      raw.subscribe('reply.gateway.raw.clock', {
        callback: (_, { reply = '' }) => {
          raw.publish(reply, encodeFrame(frameKinds.clockReading, [encodeEntry({ clock: processNow(), wall: Date.now() })]));
        },
      });
      expect(await answer(2)).toBe('done');
      await hasWorked(service, ['2']);
    } finally {
      await raw.close();
    }
  });
});
