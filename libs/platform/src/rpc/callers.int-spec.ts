import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { until } from '@plant-shop/testing/until';
import { createLogger } from '../logging.js';
import { RpcClient } from './client.js';
import { Deadline, processNow, RpcContext } from './context.js';
import { contextFor } from './context.spec.fixture.js';
import { type AnswerMeta, type CallMeta, decodeBatch, encodeEntry, encodeBatch, batchKinds } from './batch.js';
import { operationsOf } from './operation.js';
import { Job, readJob, StubService, TestClient } from './stub-service.spec.fixture.js';

// `raw` is a process inside the shop that the broker's accounts do not restrict: what it cannot do, no account can.

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const principal = { subject: '0190b6a2-6c1e-7d3a-9f5b-2c4e6a8b0d1f', permissions: ['all'], shown: ['session'] };
const contextOf = (): RpcContext => new RpcContext('test', Deadline.in(5_000), principal);

let nats: TestNats;
let raw: NatsConnection;
let gateway: TestClient;
beforeAll(async () => {
  nats = await startNats();
  raw = await connect({ servers: nats.url });
  gateway = await TestClient.connect(nats.url);
});
afterAll(async () => {
  await gateway.close();
  await raw.close();
  await nats.stop();
});

describe('a service', () => {
  const forOther = operationsOf<never, 'other'>('stub').write<{ done: true }>()('forOther', Job, { callers: ['other'] });
  const lines: object[] = [];
  let service: StubService;
  let other: RpcClient;
  let principals: unknown[];
  beforeAll(async () => {
    const logger = createLogger('stub', 'warn', { write: (line) => void lines.push(JSON.parse(line) as object) });
    service = await StubService.start(nats.url, { readJob: ({ name }, { principalIfAny }) => (principals.push(principalIfAny), { seen: name }) }, {}, logger);
    service.server.serve([{ operation: forOther, handle: (_, { principalIfAny }) => (principals.push(principalIfAny), { done: true }) }]);
    other = new RpcClient(gateway.nats, 'other', logger);
  });
  afterAll(async () => {
    other.close();
    await service.close();
  });

  /** Makes a call with bytes of its own. @returns the code of the answer, `done`, or `none` within 2 s */
  async function codeOf(caller: string, op: string, options: { readonly principal?: object; readonly replyTo?: string } = {}): Promise<string> {
    const { replyTo = `reply.${caller}.raw.stub`, ...meta } = options;
    const clock = raw.subscribe(`${replyTo}.clock`, {
      callback: (_, { reply = '' }) => raw.publish(reply, encodeBatch(batchKinds.clockReading, [encodeEntry({ clock: processNow(), wall: Date.now() })])),
    });
    const answer = new Promise<string>((resolve) => {
      raw.subscribe(`${replyTo}.1`, { max: 1, timeout: 2_000, callback: (error, { data }) => resolve(error ? 'none' : (decodeBatch<AnswerMeta>(data).entries[0]?.meta.error?.code ?? 'done')) });
    });
    const call: CallMeta = { id: 1, op, request: 'r-1', budgetMs: 5_000, deadline: processNow() + 5_000, ...meta } as CallMeta;
    raw.publish(`rpc.stub.${caller}`, encodeBatch(batchKinds.calls, [encodeEntry(call, json({ name: 'x' }))]), { reply: `${replyTo}.1` });
    try {
      return await answer;
    } finally {
      clock.unsubscribe();
    }
  }

  it('answers the callers that an operation names, refuses all others, and logs who called what', async () => {
    principals = [];
    lines.length = 0;
    expect(await codeOf('gateway', 'readJob')).toBe('done');
    expect(await codeOf('other', 'forOther')).toBe('done');
    for (const caller of ['other', 'stub', 'Gateway']) expect(await codeOf(caller, 'readJob')).toBe('unknown-operation');
    expect(await codeOf('gateway', 'forOther')).toBe('unknown-operation');
    expect(principals).toHaveLength(2);
    expect(lines).toContainEqual(expect.objectContaining({ level: 'error', rpc: 'stub.readJob', peer: 'other', requestId: 'r-1' }));
    expect(lines).toContainEqual(expect.objectContaining({ level: 'error', rpc: 'stub.forOther', peer: 'gateway', requestId: 'r-1' }));
  });

  it('accepts a principal from the gateway alone', async () => {
    principals = [];
    lines.length = 0;
    expect(await codeOf('gateway', 'readJob', { principal })).toBe('done');
    expect(await codeOf('other', 'forOther', { principal })).toBe('unknown-operation');
    expect(principals).toEqual([principal]);
    expect(lines).toEqual([expect.objectContaining({ level: 'error', rpc: 'stub.forOther', peer: 'other', principal: principal.subject })]);
  });

  it("gets the gateway's principal, and none from a service that handles a request of the gateway", async () => {
    principals = [];
    await gateway.client.call(readJob, { name: 'x' }, contextOf());
    await other.call(forOther, { name: 'x' }, contextOf());
    expect(principals).toEqual([principal, undefined]);
  });

  it("does not answer into another caller's inbox (slow)", async () => {
    principals = [];
    for (const replyTo of ['reply.gateway.raw.stub', 'reply.other.raw.gateway', 'reply.other.raw.other', 'reply.other.raw']) {
      expect(await codeOf('other', 'forOther', { replyTo })).toBe('none');
    }
    expect(principals).toEqual([]);
  });

  it("measures a caller's clock by that caller's readings", async () => {
    const forger = raw.subscribe('reply.gateway.measured.stub.clock', {
      callback: (_, { reply = '' }) => {
        const reading = encodeBatch(batchKinds.clockReading, [encodeEntry({ clock: processNow() + 600_000, wall: Date.now() })]);
        raw.publish(reply.replace('.gateway.', '.other.'), reading);
      },
    });
    expect(await new Promise<string>((resolve) => {
      raw.subscribe('reply.gateway.measured.stub.1', { max: 1, callback: (_, { data }) => resolve(decodeBatch<AnswerMeta>(data).entries[0]?.meta.error?.code ?? 'done') });
      const call: CallMeta = { id: 1, op: 'readJob', request: 'r', budgetMs: 5_000, deadline: processNow() + 5_000 };
      raw.publish('rpc.stub.gateway', encodeBatch(batchKinds.calls, [encodeEntry(call, json({ name: 'x' }))]), { reply: 'reply.gateway.measured.stub.1' });
    })).toBe('done');
    forger.unsubscribe();
  });
});

describe('a caller', () => {
  const ask = operationsOf('asked').read<{ from: string }>()('ask', Job);
  let messages: ((message: Msg, call: CallMeta) => void)[];
  beforeAll(async () => {
    raw.subscribe('rpc.asked.*', {
      callback: (_, message) => {
        const call = decodeBatch<CallMeta>(message.data).entries[0]?.meta;
        if (call) for (const send of messages) send(message, call);
      },
    });
    await raw.flush();
  });
  const answerOf = ({ id }: CallMeta, from: string): Uint8Array => encodeBatch(batchKinds.answers, [encodeEntry({ id }, json({ from }))]);
  const asOther = ({ reply = '' }: Msg): string => reply.replace('.asked.', '.other.');
  const honest = (message: Msg, call: CallMeta): void => raw.publish(message.reply ?? '', answerOf(call, 'asked'));

  it.each<[string, (message: Msg, call: CallMeta) => void]>([
    ['an answer', (message, call) => raw.publish(asOther(message), answerOf(call, 'other'))],
    ['an error', (message, { id }) => raw.publish(asOther(message), encodeBatch(batchKinds.answers, [encodeEntry({ id, error: { code: 'no', message: '' } })]))],
    ['a refusal', (message) => raw.publish(asOther(message), encodeBatch(batchKinds.refusal, [encodeEntry({ error: { code: 'no', message: '' } })]))],
    ['a message like that of a server without responders', (message) => raw.publish(asOther(message), '', { headers: headers(503, 'No Responders') })],
  ])('ignores %s from a service that it did not call', async (_what, forge) => {
    messages = [forge, honest];
    await expect(gateway.client.call(ask, { name: 'x' }, contextFor(2_000))).resolves.toEqual({ from: 'asked' });
  });

  it('sends its clock reading only to the service that asks for it', async () => {
    const received: string[] = [];
    raw.subscribe('clock.>', { callback: (_, { subject }) => void received.push(subject) });
    raw.subscribe('gateway.counts', { callback: (_, { subject }) => void received.push(subject) });
    messages = [
      ({ reply = '' }) => {
        const inbox = `${reply.slice(0, reply.lastIndexOf('.'))}.clock`;
        for (const to of ['clock.other.i.gateway.1', 'clock.asked.i.other.1', 'clock.asked.i.gateway', 'gateway.counts', 'rpc.asked.gateway', 'clock.asked.i.gateway.1']) {
          raw.publish(inbox, encodeBatch(batchKinds.clockRequest, []), { reply: to });
        }
      },
      honest,
    ];
    await gateway.client.call(ask, { name: 'x' }, contextFor(2_000));
    await until(() => received.includes('clock.asked.i.gateway.1'));
    expect(received).toEqual(['clock.asked.i.gateway.1']);
  });
});
