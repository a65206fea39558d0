import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, type Msg, type NatsConnection } from '@nats-io/transport-node';
import {
  type AnswerMeta,
  type CallMeta,
  decodeFrame,
  encodeEntry,
  encodeFrame,
  type FrameKind,
  frameKinds,
} from '@plant-shop/platform/rpc/frame';
import { processNow } from '@plant-shop/platform/rpc/process-clock';
import { operationsOf } from '@plant-shop/platform/rpc/operation';
import fc from 'fast-check';
import { startNats, type TestNats } from '../nats.js';
import { contextFor } from '../service.js';
import { until } from '../until.js';
import { Gate, Job, readJob, StubService, TestClient, writeJob } from './stub-service.js';

const entriesOf = (message: Msg): number => decodeFrame(message.data).entries.length;
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

/** Everything that is said on a subject, or the frames of one kind, seen by a third party. */
async function overheard(subject: string, kind?: FrameKind): Promise<{ messages: Msg[]; stop: () => void }> {
  const messages: Msg[] = [];
  const subscription = raw.subscribe(subject, {
    callback: (_, message) => {
      if (kind === undefined || decodeFrame(message.data).kind === kind) messages.push(message);
    },
  });
  await raw.flush();
  return { messages, stop: () => subscription.unsubscribe() };
}

/** Answers requests for the clock as a caller in any language would. */
function tellClock(prefix: string): { stop: () => void } {
  const subscription = raw.subscribe(`${prefix}.clock`, {
    callback: (_, { reply = '' }) => {
      raw.publish(reply, encodeFrame(frameKinds.clockReading, [encodeEntry({ clock: processNow(), wall: Date.now() })]));
    },
  });
  return { stop: () => subscription.unsubscribe() };
}

describe('on the wire', () => {
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
    calls = await overheard('rpc.stub');
    answers = await overheard('reply.>', frameKinds.answers);
  });
  afterEach(async () => {
    calls.stop();
    answers.stop();
    await service.close();
  });
  /** Calls in one turn; what the third party hears of it, it hears after the answers or before. */
  const lookAt = async (names: readonly string[]): Promise<number[]> => {
    await Promise.all(names.map((name) => caller.client.call(readJob, { name }, contextFor())));
    await until(() => calls.messages.reduce((sum, one) => sum + entriesOf(one), 0) === names.length);
    return calls.messages.map(entriesOf);
  };
  const names = (count: number, length = 1): string[] => Array.from({ length: count }, (_, n) => String(n).padEnd(length, '.'));

  it('a call alone is a frame of one', async () => {
    expect(await lookAt(['a'])).toEqual([1]);
  });

  it('all calls of one turn are one message, and so are their answers', async () => {
    expect(await lookAt(names(100))).toEqual([100]);
    await until(() => answers.messages.length > 0);
    expect(answers.messages.map(entriesOf)).toEqual([100]);
  });

  it('a frame ends at 256 calls', async () => {
    expect(await lookAt(names(600))).toEqual([256, 256, 88]);
  });

  it('a frame of calls or answers ends at 512 KiB, so that NATS carries it', async () => {
    expect(await lookAt(names(5, 200_000))).toEqual([2, 2, 1]);
    await until(() => answers.messages.reduce((sum, one) => sum + entriesOf(one), 0) === 5);
    expect(Math.max(...answers.messages.map((one) => one.data.length))).toBeLessThan(1024 * 1024);
  });

  it('calls of different turns are different frames; answers that are ready together go back together', async () => {
    const gate = new Gate();
    const under: Promise<unknown>[] = [];
    for (const name of ['a', 'b', 'c']) {
      gates.set(name, gate);
      under.push(caller.client.call(readJob, { name }, contextFor()));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => service.server.inFlight === 3);
    gate.open();
    await Promise.all(under);
    await until(() => calls.messages.length === 3 && answers.messages.length > 0);
    expect(answers.messages.map(entriesOf)).toEqual([3]);
  });

  it('two callers never share a frame of answers', async () => {
    const gate = new Gate();
    gates.set('a', gate);
    const other = await TestClient.connect(nats.url);
    const under = [caller, other].map((one) => one.client.call(readJob, { name: 'a' }, contextFor()));
    await until(() => service.server.inFlight === 2);
    gate.open();
    await Promise.all(under);
    await until(() => answers.messages.length === 2);
    expect(new Set(answers.messages.map((one) => one.subject.split('.')[2])).size).toBe(2);
    await other.close();
  });
});

describe('a service that is sent', () => {
  let service: StubService;
  let worked: string[];
  let frames = 0;
  let clock: { stop: () => void };

  beforeAll(async () => {
    worked = [];
    clock = tellClock('reply.gateway.raw');
    service = await StubService.start(nats.url, { writeJob: ({ name }) => worked.push(name) });
  });
  afterAll(async () => {
    clock.stop();
    await service.close();
  });
  afterEach(async () => {
    // Whatever came before, it goes on.
    await expect(caller.client.call(readJob, { name: 'still there' }, contextFor())).resolves.toEqual({ seen: 'still there' });
  });

  const meta = (changes: object = {}): CallMeta => ({
    id: 1,
    op: 'writeJob',
    request: 'r',
    budgetMs: 5_000,
    deadline: processNow() + 5_000,
    ...changes,
  });
  const callFrame = (...metas: object[]): Buffer =>
    encodeFrame(frameKinds.calls, metas.map((one) => encodeEntry(one as CallMeta, json({ name: 'x' }))));

  /** What comes back for these bytes, sent as a client in any language would. */
  async function sent(bytes: Uint8Array): Promise<{ kind: number; codes: (string | undefined)[] }> {
    const reply = `reply.gateway.raw.${++frames}`;
    const answer = new Promise<Msg>((resolve) => {
      raw.subscribe(reply, { max: 1, callback: (_, message) => resolve(message) });
    });
    raw.publish('rpc.stub', bytes, { reply });
    const { kind, entries } = decodeFrame<AnswerMeta>((await answer).data);
    return { kind, codes: entries.map((entry) => entry.meta.error?.code) };
  }
  const refused = { kind: frameKinds.refusal, codes: ['malformed-frame'] };

  it('a frame by hand carries it out', async () => {
    await expect(sent(callFrame(meta()))).resolves.toEqual({ kind: frameKinds.answers, codes: [undefined] });
    expect(worked).toEqual(['x']);
  });

  it('a call after its deadline, by the absolute time or by the budget, does not carry it out', async () => {
    const before = worked.length;
    const past = { kind: frameKinds.answers, codes: ['unavailable'] };
    await expect(sent(callFrame(meta({ deadline: processNow() - 1 })))).resolves.toEqual(past);
    await expect(sent(callFrame(meta({ budgetMs: 0, deadline: processNow() })))).resolves.toEqual(past);
    await expect(sent(callFrame(meta({ budgetMs: 0 })))).resolves.toEqual(past);
    expect(worked).toHaveLength(before);
  });

  it.each([
    ['nothing', () => Buffer.alloc(0)],
    ['text', () => Buffer.from('{"op":"work"}')],
    ['another version', () => Buffer.concat([Buffer.from('RP\x02'), callFrame(meta()).subarray(3)])],
    ['a frame of answers', () => encodeFrame(frameKinds.answers, [encodeEntry(meta())])],
    ['an unknown kind', () => encodeFrame(9 as 1, [encodeEntry(meta())])],
    ['a frame without calls', () => callFrame()],
    ['half a frame', () => callFrame(meta()).subarray(0, 40)],
    ['a call without an operation', () => callFrame(meta({ op: undefined }))],
    ['a principal that is none', () => callFrame(meta({ principal: { subject: 'a' } }))],
    ['one broken call beside a good one', () => callFrame(meta(), meta({ id: 'x' }))],
  ])('%s refuses the frame and carries out nothing of it', async (_what, bytes) => {
    const before = worked.length;
    await expect(sent(bytes())).resolves.toEqual(refused);
    expect(worked).toHaveLength(before);
  });

  it('any bytes refuses them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        expect(await sent(bytes)).toEqual(refused);
      }),
      { numRuns: 100 },
    );
  });

  it('a frame with bytes changed refuses it or answers each call', async () => {
    const frame = callFrame(meta(), meta({ id: 2, op: 'readJob' }));
    const change = fc.tuple(fc.nat(frame.length - 1), fc.nat(255));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        const changed = Buffer.from(frame);
        for (const [at, byte] of changes) changed[at] = byte;
        const { kind, codes } = await sent(changed);
        if (kind === frameKinds.refusal) expect(codes).toEqual(['malformed-frame']);
        else expect(kind).toBe(frameKinds.answers);
        expect(codes).not.toContain('internal');
      }),
      { numRuns: 200 },
    );
  });

  it('a call without a reply subject, or one where no caller listens, says nothing there', async () => {
    const before = worked.length;
    const elsewhere = await overheard('*.>');
    raw.publish('rpc.stub', callFrame(meta()));
    for (const reply of ['_INBOX.x', 'store.feed', 'rpc.stub', 'reply.short', 'reply.a.b.c.d']) {
      raw.publish('rpc.stub', callFrame(meta()), { reply });
    }
    await caller.client.call(readJob, { name: 'x' }, contextFor());
    await until(() => elsewhere.messages.some((one) => one.subject.startsWith('reply.gateway.')));
    elsewhere.stop();
    const subjects = elsewhere.messages.map((one) => one.subject.replace(/^(reply\.gateway)\..*/, '$1'));
    expect(new Set(subjects)).toEqual(new Set(['rpc.stub', 'reply.gateway']));
    expect(worked).toHaveLength(before);
  });
});

describe('a caller that is answered', () => {
  const { read } = operationsOf('hostile');
  const ask = read<{ fine: true }>()('ask', Job);
  let answer: (call: CallMeta) => Uint8Array[];
  let subscription: { unsubscribe: () => void };

  beforeAll(async () => {
    subscription = raw.subscribe('rpc.hostile', {
      callback: (_, message) => {
        for (const { meta } of decodeFrame<CallMeta>(message.data).entries) {
          for (const bytes of answer(meta)) raw.publish(message.reply ?? '', bytes);
        }
      },
    });
    await raw.flush();
  });
  afterAll(() => subscription.unsubscribe());
  const good = ({ id }: CallMeta): Uint8Array => encodeFrame(frameKinds.answers, [encodeEntry({ id }, json({ fine: true }))]);
  const asked = (): Promise<unknown> => caller.client.call(ask, { name: 'x' }, contextFor(undefined, 2_000));

  it.each<[string, (call: CallMeta) => Uint8Array]>([
    ['nothing', () => Buffer.alloc(0)],
    ['text', () => Buffer.from('hello')],
    ['a frame of calls', () => encodeFrame(frameKinds.calls, [encodeEntry({ id: 1 })])],
    ['an unknown call', () => encodeFrame(frameKinds.answers, [encodeEntry({ id: 123_456_789 }, json(1))])],
    ['no id', () => encodeFrame(frameKinds.answers, [encodeEntry({})])],
    ['an error that is none', ({ id }) => encodeFrame(frameKinds.answers, [encodeEntry({ id, error: null } as never)])],
    ['a refusal without entries', () => encodeFrame(frameKinds.refusal, [])],
    ['a refusal without an error', () => encodeFrame(frameKinds.refusal, [encodeEntry({})])],
  ])('with %s still hears the answer after it', async (_what, bad) => {
    answer = (call) => [bad(call), good(call)];
    await expect(asked()).resolves.toEqual({ fine: true });
  });

  it('with a good answer beside a broken one in the same frame hears it', async () => {
    answer = ({ id }) => [encodeFrame(frameKinds.answers, [encodeEntry({ id: 'x' } as never), encodeEntry({ id }, json({ fine: true }))])];
    await expect(asked()).resolves.toEqual({ fine: true });
  });

  it('twice hears the first one', async () => {
    answer = (call) => [good(call), encodeFrame(frameKinds.answers, [encodeEntry({ id: call.id, error: { code: 'late', message: '' } })])];
    await expect(asked()).resolves.toEqual({ fine: true });
    await expect(asked()).resolves.toEqual({ fine: true });
  });

  it('with a refusal of its frame learns the code of it', async () => {
    answer = () => [encodeFrame(frameKinds.refusal, [encodeEntry({ error: { code: 'malformed-frame', message: 'version 2' } })])];
    await expect(asked()).rejects.toMatchObject({ code: 'malformed-frame' });
    await expect(caller.client.call(writeJob, { name: 'x' }, contextFor())).rejects.toMatchObject({ code: 'unavailable' });
  });
});
