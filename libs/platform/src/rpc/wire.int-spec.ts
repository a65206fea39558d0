import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { until } from '@plant-shop/testing/until';
import fc from 'fast-check';
import { contextFor } from './context.spec.fixture.js';
import {
  type AnswerMeta,
  type CallMeta,
  decodeBatch,
  encodeEntry,
  encodeBatch,
  type BatchKind,
  batchKinds,
} from './batch.js';
import { operationsOf } from './operation.js';
import { processNow } from './context.js';
import { Gate, Job, readJob, StubService, TestClient, writeJob } from './stub-service.spec.fixture.js';

const entriesOf = (message: Msg): number => decodeBatch(message.data).entries.length;
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

let nats: TestNats;
let raw: NatsConnection;
let caller: TestClient;
beforeAll(async () => {
  nats = await startNats();
  raw = await connect({ servers: nats.url });
  caller = await TestClient.connect(nats.url);
});
afterAll(async () => {
  await caller.close();
  await raw.close();
  await nats.stop();
});

/** Records all messages on a subject, or the batches of one kind, as a third party. */
async function recorded(subject: string, kind?: BatchKind): Promise<{ messages: Msg[]; stop: () => void }> {
  const messages: Msg[] = [];
  const subscription = raw.subscribe(subject, {
    callback: (_, message) => {
      if (kind === undefined || decodeBatch(message.data).kind === kind) messages.push(message);
    },
  });
  await raw.flush();
  return { messages, stop: () => subscription.unsubscribe() };
}

/** Answers clock requests as a caller in any language would. */
function answerClockRequests(prefix: string): { readings: number[]; stop: () => void } {
  const readings: number[] = [];
  const subscription = raw.subscribe(`${prefix}.clock`, {
    callback: (_, { reply = '' }) => {
      const clock = processNow();
      readings.push(clock);
      raw.publish(reply, encodeBatch(batchKinds.clockReading, [encodeEntry({ clock, wall: Date.now() })]));
    },
  });
  return { readings, stop: () => subscription.unsubscribe() };
}

describe('batches on the wire', () => {
  let service: StubService;
  let calls: { messages: Msg[]; stop: () => void };
  let answers: { messages: Msg[]; stop: () => void };
  let gates: Map<string, Gate>;

  beforeEach(async () => {
    gates = new Map();
    service = await StubService.start(nats.url, {
      readJob: async ({ name }) => {
        await gates.get(name)?.passed;
        return { seen: name };
      },
    });
    calls = await recorded('rpc.stub.*');
    answers = await recorded('reply.>', batchKinds.answers);
  });
  afterEach(async () => {
    calls.stop();
    answers.stop();
    await service.close();
  });
  /** Makes calls in one turn. @returns the number of calls in each batch; recording may lag behind the answers */
  const callAll = async (names: readonly string[]): Promise<number[]> => {
    await Promise.all(names.map((name) => caller.client.call(readJob, { name }, contextFor())));
    await until(() => calls.messages.reduce((sum, one) => sum + entriesOf(one), 0) >= names.length);
    return calls.messages.map(entriesOf);
  };
  const names = (count: number, length = 1): string[] => Array.from({ length: count }, (_, n) => String(n).padEnd(length, '.'));

  it('hold a single call', async () => {
    expect(await callAll(['a'])).toEqual([1]);
  });

  it('hold all calls of one turn, and so do the batches of their answers', async () => {
    expect(await callAll(names(100))).toEqual([100]);
    await until(() => answers.messages.length > 0);
    expect(answers.messages.map(entriesOf)).toEqual([100]);
  });

  it('hold at most 256 calls', async () => {
    expect(await callAll(names(600))).toEqual([256, 256, 88]);
  });

  it('hold at most 512 KiB of calls or answers, so that NATS accepts them', async () => {
    expect(await callAll(names(5, 200_000))).toEqual([2, 2, 1]);
    await until(() => answers.messages.reduce((sum, one) => sum + entriesOf(one), 0) === 5);
    expect(Math.max(...answers.messages.map((one) => one.data.length))).toBeLessThan(1024 * 1024);
  });

  it('differ for calls of different turns, but share answers that are ready in the same turn', async () => {
    const gate = new Gate();
    const pending: Promise<unknown>[] = [];
    for (const name of ['a', 'b', 'c']) {
      gates.set(name, gate);
      pending.push(caller.client.call(readJob, { name }, contextFor()));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => service.server.inFlight === 3);
    gate.open();
    await Promise.all(pending);
    await until(() => calls.messages.length === 3 && answers.messages.length > 0);
    expect(answers.messages.map(entriesOf)).toEqual([3]);
  });

  it('never hold answers for two callers', async () => {
    const gate = new Gate();
    gates.set('a', gate);
    const other = await TestClient.connect(nats.url);
    const pending = [caller, other].map((one) => one.client.call(readJob, { name: 'a' }, contextFor()));
    await until(() => service.server.inFlight === 2);
    gate.open();
    await Promise.all(pending);
    await until(() => answers.messages.length === 2);
    expect(new Set(answers.messages.map((one) => one.subject.split('.')[2])).size).toBe(2);
    await other.close();
  });
});

describe('a service that receives', () => {
  let service: StubService;
  let handled: string[];
  let batches = 0;
  let clock: { stop: () => void };

  beforeAll(async () => {
    handled = [];
    clock = answerClockRequests('reply.gateway.raw.stub');
    service = await StubService.start(nats.url, { writeJob: ({ name }) => handled.push(name) });
  });
  afterAll(async () => {
    clock.stop();
    await service.close();
  });
  afterEach(async () => {
    // It still works after every test.
    await expect(caller.client.call(readJob, { name: 'alive' }, contextFor())).resolves.toEqual({ seen: 'alive' });
  });

  const meta = (changes: object = {}): CallMeta => ({
    id: 1,
    op: 'writeJob',
    request: 'r',
    budgetMs: 5_000,
    deadline: processNow() + 5_000,
    ...changes,
  });
  const callBatch = (...metas: object[]): Buffer =>
    encodeBatch(batchKinds.calls, metas.map((one) => encodeEntry(one as CallMeta, json({ name: 'x' }))));

  /** Sends these bytes as a caller in any language would. @returns the answer */
  async function answerTo(bytes: Uint8Array, prefix = 'reply.gateway.raw.stub'): Promise<{ kind: number; codes: (string | undefined)[] }> {
    const reply = `${prefix}.${++batches}`;
    const answer = new Promise<Msg>((resolve) => {
      raw.subscribe(reply, { max: 1, callback: (_, message) => resolve(message) });
    });
    raw.publish('rpc.stub.gateway', bytes, { reply });
    const { kind, entries } = decodeBatch<AnswerMeta>((await answer).data);
    return { kind, codes: entries.map((entry) => entry.meta.error?.code) };
  }
  const refused = { kind: batchKinds.refusal, codes: ['malformed-batch'] };

  it('a batch built by hand handles its call', async () => {
    await expect(answerTo(callBatch(meta()))).resolves.toEqual({ kind: batchKinds.answers, codes: [undefined] });
    expect(handled).toEqual(['x']);
  });

  it('a call after its deadline, by the absolute time or by the budget, does not handle it', async () => {
    const prefix = 'reply.gateway.late.stub';
    const lateClock = answerClockRequests(prefix);
    await answerTo(callBatch(meta()), prefix);
    // The service has just measured this caller's clock, to within the time since it was read.
    const errorMs = processNow() - (lateClock.readings[0] ?? NaN);
    const before = handled.length;
    const past = { kind: batchKinds.answers, codes: ['unavailable'] };
    await expect(answerTo(callBatch(meta({ deadline: processNow() - errorMs - 1 })), prefix)).resolves.toEqual(past);
    lateClock.stop();
    await expect(answerTo(callBatch(meta({ budgetMs: 0, deadline: processNow() })))).resolves.toEqual(past);
    await expect(answerTo(callBatch(meta({ budgetMs: 0 })))).resolves.toEqual(past);
    expect(handled).toHaveLength(before);
  });

  it.each([
    ['no bytes', () => Buffer.alloc(0)],
    ['text', () => Buffer.from('{"op":"writeJob"}')],
    ['another version', () => Buffer.concat([Buffer.from('RP\x02'), callBatch(meta()).subarray(3)])],
    ['a batch of answers', () => encodeBatch(batchKinds.answers, [encodeEntry(meta())])],
    ['an unknown kind', () => encodeBatch(9 as 1, [encodeEntry(meta())])],
    ['a batch without calls', () => callBatch()],
    ['half a batch', () => callBatch(meta()).subarray(0, 40)],
    ['a call without an operation', () => callBatch(meta({ op: undefined }))],
    ['an incomplete principal', () => callBatch(meta({ principal: { subject: 'a' } }))],
    ['one malformed call beside a valid one', () => callBatch(meta(), meta({ id: 'x' }))],
  ])('%s refuses the batch and handles none of its calls', async (_what, bytes) => {
    const before = handled.length;
    await expect(answerTo(bytes())).resolves.toEqual(refused);
    expect(handled).toHaveLength(before);
  });

  it('arbitrary bytes refuses them (slow)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        expect(await answerTo(bytes)).toEqual(refused);
      }),
      { numRuns: 100 },
    );
  });

  it('a batch with changed bytes refuses it or answers each call (slow)', async () => {
    const batch = callBatch(meta(), meta({ id: 2, op: 'readJob' }));
    const change = fc.tuple(fc.nat(batch.length - 1), fc.nat(255));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        const changed = Buffer.from(batch);
        for (const [at, byte] of changes) changed[at] = byte;
        const { kind, codes } = await answerTo(changed);
        if (kind === batchKinds.refusal) expect(codes).toEqual(['malformed-batch']);
        else expect(kind).toBe(batchKinds.answers);
        expect(codes).not.toContain('internal');
      }),
      { numRuns: 200 },
    );
  });

  it('a call with a missing or invalid reply subject does not answer and does not handle it', async () => {
    const before = handled.length;
    const all = await recorded('*.>');
    raw.publish('rpc.stub.gateway', callBatch(meta()));
    for (const reply of ['_INBOX.x', 'store.feed', 'rpc.stub.gateway', 'reply.short', 'reply.gateway.i.stub', 'reply.gateway.i.stub.f.g', 'reply.other.i.stub.f', 'reply.gateway.i.other.f', 'clock.gateway.i.stub.f']) {
      raw.publish('rpc.stub.gateway', callBatch(meta()), { reply });
    }
    await caller.client.call(readJob, { name: 'x' }, contextFor());
    await until(() => all.messages.some((one) => one.subject.startsWith('reply.gateway.')));
    all.stop();
    const subjects = all.messages.map((one) => one.subject.replace(/^(reply\.gateway)\..*/, '$1'));
    expect(new Set(subjects)).toEqual(new Set(['rpc.stub.gateway', 'reply.gateway']));
    expect(handled).toHaveLength(before);
  });
});

describe('a caller that receives', () => {
  const { read } = operationsOf('hostile');
  const ask = read<{ fine: true }>()('ask', Job);
  let answer: (call: CallMeta) => Uint8Array[];
  let subscription: { unsubscribe: () => void };

  beforeAll(async () => {
    subscription = raw.subscribe('rpc.hostile.*', {
      callback: (_, message) => {
        for (const { meta } of decodeBatch<CallMeta>(message.data).entries) {
          for (const bytes of answer(meta)) raw.publish(message.reply ?? '', bytes);
        }
      },
    });
    await raw.flush();
  });
  afterAll(() => subscription.unsubscribe());
  const valid = ({ id }: CallMeta): Uint8Array => encodeBatch(batchKinds.answers, [encodeEntry({ id }, json({ fine: true }))]);
  const call = (): Promise<unknown> => caller.client.call(ask, { name: 'x' }, contextFor(2_000));

  it.each<[string, (call: CallMeta) => Uint8Array]>([
    ['no bytes', () => Buffer.alloc(0)],
    ['text', () => Buffer.from('hello')],
    ['a batch of calls', () => encodeBatch(batchKinds.calls, [encodeEntry({ id: 1 })])],
    ['an answer to an unknown call', () => encodeBatch(batchKinds.answers, [encodeEntry({ id: 123_456_789 }, json(1))])],
    ['an answer without an id', () => encodeBatch(batchKinds.answers, [encodeEntry({})])],
    ['an error that is null', ({ id }) => encodeBatch(batchKinds.answers, [encodeEntry({ id, error: null } as never)])],
    ['a refusal without entries', () => encodeBatch(batchKinds.refusal, [])],
    ['a refusal without an error', () => encodeBatch(batchKinds.refusal, [encodeEntry({})])],
  ])('%s still accepts the answer after it', async (_what, malformed) => {
    answer = (meta) => [malformed(meta), valid(meta)];
    await expect(call()).resolves.toEqual({ fine: true });
  });

  it('a valid answer beside a malformed one in the same batch accepts it', async () => {
    answer = ({ id }) => [encodeBatch(batchKinds.answers, [encodeEntry({ id: 'x' } as never), encodeEntry({ id }, json({ fine: true }))])];
    await expect(call()).resolves.toEqual({ fine: true });
  });

  it('two answers to a call accepts the first one', async () => {
    answer = (meta) => [valid(meta), encodeBatch(batchKinds.answers, [encodeEntry({ id: meta.id, error: { code: 'late', message: '' } })])];
    await expect(call()).resolves.toEqual({ fine: true });
    await expect(call()).resolves.toEqual({ fine: true });
  });

  it('a refusal of its batch rejects with the code of the refusal', async () => {
    answer = () => [encodeBatch(batchKinds.refusal, [encodeEntry({ error: { code: 'malformed-batch', message: 'version 2' } })])];
    await expect(call()).rejects.toMatchObject({ code: 'malformed-batch' });
    await expect(caller.client.call(writeJob, { name: 'x' }, contextFor())).rejects.toMatchObject({ code: 'unavailable' });
  });
});
