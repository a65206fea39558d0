import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { CodedError } from '../errors.js';
import type { Nats } from '../nats.js';
import { Page, Versioned } from './answer.js';
import { Deadline, RpcContext } from './context.js';
import { contextFor } from './context.spec.fixture.js';
import { NoPayload, operationsOf } from './operation.js';
import { Gate, readJob, StubService, TestClient, writeJob } from './stub-service.spec.fixture.js';

const job = { name: 'a' };
const principal = { subject: '5f0d…', permissions: ['write:orders'], shown: ['session'] };

describe('a call', () => {
  let nats: TestNats;
  let caller: TestClient;
  let service: StubService | undefined;
  const startService: typeof StubService.start = async (...args) => (service = await StubService.start(...args));

  beforeAll(async () => {
    nats = await startNats();
    caller = await TestClient.connect(nats.url);
  });
  afterEach(async () => {
    await service?.close();
    service = undefined;
  });
  afterAll(async () => {
    await caller.close();
    await nats.stop();
  });

  it('to a service that is not running is unavailable at once', async () => {
    const started = performance.now();
    await expect(caller.client.call(readJob, job, contextFor())).rejects.toMatchObject({ code: 'unavailable' });
    await expect(caller.client.call(writeJob, job, contextFor())).rejects.toMatchObject({ code: 'unavailable' });
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it('that is never answered ends with its budget: a write as outcome-unknown, a read as unavailable', async () => {
    const gate = new Gate();
    await startService(nats.url, { readJob: () => gate.passed, writeJob: () => gate.passed });
    const started = performance.now();
    await Promise.all([
      expect(caller.client.call(writeJob, job, contextFor(300))).rejects.toMatchObject({
        code: 'outcome-unknown',
        message:
          'The stub service was sent the request, but no answer came. Check whether it took effect. ' +
          'If you sent an Idempotency-Key, you can repeat the request with the same key instead.',
      }),
      expect(caller.client.call(readJob, job, contextFor(300))).rejects.toMatchObject({
        code: 'unavailable',
        message: 'The stub service cannot be reached or did not respond in time. Nothing happened; try again.',
      }),
    ]);
    expect(performance.now() - started).toBeGreaterThanOrEqual(299);
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(caller.client.inFlight).toBe(0);
    gate.open();
  });

  it('that reads is retried once if its answer is late, and one that writes is not (slow)', async () => {
    const received = { reads: 0, writes: 0 };
    const never = new Promise<void>(() => undefined);
    await startService(nats.url, {
      readJob: ({ name }) => (++received.reads === 1 ? never : { seen: name }),
      writeJob: () => (++received.writes, never),
    });
    const [read, write] = await Promise.allSettled([
      caller.client.call(readJob, job, contextFor(8_000)),
      caller.client.call(writeJob, job, contextFor(4_000)),
    ]);
    expect(read).toEqual({ status: 'fulfilled', value: { seen: 'a' } });
    expect(write).toMatchObject({ reason: { code: 'outcome-unknown' } });
    expect(received).toEqual({ reads: 2, writes: 1 });
  });

  it('passes an Idempotency-Key to the handler only if the operation declares idempotency-key-reused', async () => {
    const keys: Record<string, boolean> = {};
    const note = (operation: string) => (_: unknown, { idempotency }: RpcContext) => (keys[operation] = idempotency !== undefined);
    await startService(nats.url, { readJob: note('readJob'), writeJob: note('writeJob') });
    const context = new RpcContext('test', Deadline.in(5_000), principal);
    for (const operation of [readJob, writeJob]) await caller.client.callRaw(operation, job, context, 'key');
    expect(keys).toEqual({ readJob: false, writeJob: true });
  });

  it('goes to a replica that takes most, mostly, until it takes its share again', async () => {
    const { server } = await startService(nats.url);
    const other = await StubService.start(nats.url, { readJob: () => ({ seen: 'other' }) });
    const toOther = async (): Promise<number> => {
      let count = 0;
      for (let n = 0; n < 200; n++) count += (await caller.client.call(readJob, job, contextFor())).seen === 'other' ? 1 : 0;
      return count;
    };
    server.takeMost(60);
    await server.unwrap<Nats['connection']>().flush();
    expect(await toOther()).toBeLessThan(40);
    server.takeMost(0);
    await new Promise((resolve) => setTimeout(resolve, 10));
    await server.unwrap<Nats['connection']>().flush();
    expect(await toOther()).toBeGreaterThan(60);
    server.takeMost(60);
    await service?.close();
    expect(await toOther()).toBe(200);
    await other.close();
  });

  it('without any budget left is not sent', async () => {
    let handled = 0;
    await startService(nats.url, { writeJob: () => ++handled });
    await expect(caller.client.call(writeJob, job, contextFor(0))).rejects.toMatchObject({ code: 'unavailable' });
    await caller.client.call(readJob, job, contextFor());
    expect(handled).toBe(0);
  });

  it('that arrives after its deadline is never handled: its caller already received outcome-unknown', async () => {
    const handled: string[] = [];
    await startService(nats.url, { writeJob: ({ name }) => handled.push(name) });
    await nats.pause();
    try {
      const expired = caller.client.call(writeJob, { name: 'expired' }, contextFor(300));
      await expect(expired).rejects.toMatchObject({ code: 'outcome-unknown' });
    } finally {
      nats.resume();
    }
    await caller.client.call(writeJob, { name: 'in time' }, contextFor());
    expect(handled).toEqual(['in time']);
  });

  it('beyond the concurrency limit of the service is overloaded and not handled', async () => {
    const gate = new Gate();
    let started = 0;
    await startService(
      nats.url,
      {
        writeJob: async () => {
          started++;
          await gate.passed;
          return { done: 'x' };
        },
      },
      { maxInFlight: 2 },
    );
    const calls = [1, 2, 3, 4, 5].map(() => caller.client.call(writeJob, job, contextFor()));
    const refused = await Promise.allSettled(calls.slice(2));
    expect(refused.map((one) => one.status === 'rejected' && (one.reason as CodedError).code)).toEqual(
      Array<string>(3).fill('overloaded'),
    );
    expect(started).toBe(2);
    gate.open();
    await expect(Promise.all(calls.slice(0, 2))).resolves.toHaveLength(2);
    await expect(caller.client.call(writeJob, job, contextFor())).resolves.toEqual({ done: 'x' });
  });

  it('is not delayed by a slow one in the same batch', async () => {
    const gate = new Gate();
    await startService(nats.url, { readJob: async ({ name }) => (name === 'slow' ? (await gate.passed, { seen: 'slow' }) : { seen: name }) });
    const slow = caller.client.call(readJob, { name: 'slow' }, contextFor());
    const fast = ['b', 'c', 'd'].map((name) => caller.client.call(readJob, { name }, contextFor()));
    await expect(Promise.all(fast)).resolves.toEqual([{ seen: 'b' }, { seen: 'c' }, { seen: 'd' }]);
    expect(caller.client.inFlight).toBe(1);
    gate.open();
    await expect(slow).resolves.toEqual({ seen: 'slow' });
  });

  it('that the service refuses rejects with the code, text and details of the error', async () => {
    const refusal = new CodedError('insufficient-glue', 'Bring your own.', { available: 3, errors: [{ pointer: '/name', detail: 'x' }] });
    await startService(nats.url, { writeJob: () => Promise.reject(refusal) });
    await expect(caller.client.call(writeJob, job, contextFor())).rejects.toMatchObject({
      code: 'insufficient-glue',
      message: 'Bring your own.',
      details: { available: 3, errors: [{ pointer: '/name', detail: 'x' }] },
    });
  });

  it('that fails because of a defect does not reveal the text of the error', async () => {
    await startService(nats.url, { writeJob: () => Promise.reject(new Error('relation "canary" does not exist')) });
    const error: unknown = await caller.client.call(writeJob, job, contextFor()).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'internal', details: {} });
    expect(String(error)).not.toContain('canary');
  });

  it('rejects with the code of an error whose details cannot be sent, without failing other calls of its batch', async () => {
    const details = { bigint: { n: 1n }, huge: { list: Array(200_000).fill('1234567890') } };
    await startService(nats.url, {
      writeJob: ({ name }) => Promise.reject(new CodedError('refused', 'No.', details[name as keyof typeof details])),
    });
    const calls = ['bigint', 'huge'].map((name) => caller.client.call(writeJob, { name }, contextFor()));
    const neighbour = caller.client.call(readJob, { name: 'b' }, contextFor());
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'refused', message: 'No.' });
    await expect(neighbour).resolves.toEqual({ seen: 'b' });
  });

  it('with a payload that does not match its class is refused before the handler runs', async () => {
    let handled = 0;
    await startService(nats.url, { writeJob: () => ++handled });
    await expect(caller.client.call(writeJob, { name: 5 } as never, contextFor())).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [{ pointer: '/name', detail: 'must be text' }] },
    });
    await expect(caller.client.callRaw(writeJob, Buffer.from('{"name":'), contextFor())).rejects.toMatchObject({ code: 'invalid-input' });
    expect(handled).toBe(0);
  });

  it('of an operation that the service does not have fails with unknown-operation', async () => {
    await startService(nats.url);
    const unknown = operationsOf('stub').read()('constructor', NoPayload);
    await expect(caller.client.call(unknown, {}, contextFor())).rejects.toMatchObject({ code: 'unknown-operation' });
  });

  it('returns version and cursor beside the answer', async () => {
    await startService(nats.url, { readJob: () => new Page(['a', 'b'], 'after-b'), writeJob: () => new Versioned({ done: 'a' }, 7) });
    const page = await caller.client.callRaw(readJob, job, contextFor());
    expect(Buffer.from(page.payload).toString()).toBe('["a","b"]');
    expect([page.version, page.next]).toEqual([undefined, 'after-b']);
    const versioned = await caller.client.callRaw(writeJob, job, contextFor());
    expect(Buffer.from(versioned.payload).toString()).toBe('{"done":"a"}');
    expect([versioned.version, versioned.next]).toEqual([7, undefined]);
  });

  it('passes bytes unchanged in both directions', async () => {
    const bytes = Buffer.from('{ "name" :\n"ä" }');
    await startService(nats.url, { readJob: () => bytes });
    const answer = await caller.client.callRaw(readJob, Buffer.from('{"name": "x", "unknown": [1, 2]}'), contextFor());
    expect(Buffer.from(answer.payload)).toEqual(bytes);
  });

  it('larger than a batch allows is refused before it is sent', async () => {
    await startService(nats.url);
    await expect(caller.client.call(writeJob, { name: 'x'.repeat(950_000) }, contextFor())).rejects.toMatchObject({
      code: 'payload-too-large',
    });
    await expect(caller.client.call(writeJob, { name: 'x'.repeat(800_000) }, contextFor())).resolves.toBeDefined();
  });

  it('whose answer is larger than a batch allows fails as internal, without failing other calls of its batch', async () => {
    await startService(nats.url, { readJob: ({ name }) => ({ seen: name === 'big' ? 'x'.repeat(950_000) : name }) });
    const calls = ['big', 'b'].map((name) => caller.client.call(readJob, { name }, contextFor()));
    await expect(calls[0]).rejects.toMatchObject({ code: 'internal' });
    await expect(calls[1]).resolves.toEqual({ seen: 'b' });
  });

  it('that a handler makes has the remaining budget and the principal of its own call', async () => {
    let seen: RpcContext | undefined;
    await startService(nats.url, {
      writeJob: async (_, context) => caller.client.call(readJob, { name: 'nested' }, context),
      readJob: ({ name }, context) => {
        seen = context;
        return { seen: name };
      },
    });
    const outer = new RpcContext('request-1', Deadline.in(5_000), principal, '00-aaaa-bbbb-01');
    await expect(caller.client.call(writeJob, job, outer)).resolves.toEqual({ seen: 'nested' });
    expect(seen).toMatchObject({ requestId: 'request-1', principal, traceparent: '00-aaaa-bbbb-01' });
    expect(seen?.principal).toEqual(principal);
    expect(seen?.has('write:orders')).toBe(true);
    expect(seen?.has('write:plants')).toBe(false);
    expect(seen?.deadline.at).toBeLessThanOrEqual(outer.deadline.at + 250);
    expect(seen?.deadline.leftMs).toBeLessThanOrEqual(5_000);
  });

  it('without a principal fails as internal if the operation needs one', async () => {
    await startService(nats.url, { writeJob: (_, context) => context.principal });
    await expect(caller.client.call(writeJob, job, contextFor())).rejects.toMatchObject({ code: 'internal' });
  });

  it('made in the turn in which its client closes is not sent, and one in progress ends as outcome-unknown', async () => {
    const gate = new Gate();
    const handled: string[] = [];
    await startService(nats.url, {
      writeJob: async ({ name }) => {
        handled.push(name);
        await gate.passed;
      },
    });
    const closing = await TestClient.connect(nats.url);
    const inProgress = closing.client.call(writeJob, { name: 'in progress' }, contextFor());
    await caller.client.call(readJob, job, contextFor());
    const late = closing.client.call(writeJob, { name: 'late' }, contextFor());
    await closing.close();
    await expect(inProgress).rejects.toMatchObject({ code: 'outcome-unknown' });
    await expect(late).rejects.toMatchObject({ code: 'unavailable' });
    await caller.client.call(readJob, job, contextFor());
    expect(handled).toEqual(['in progress']);
    gate.open();
  });
});
