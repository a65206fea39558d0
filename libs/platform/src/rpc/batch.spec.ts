import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CodedError } from '../errors.js';
import {
  type AnswerMeta,
  type CallMeta,
  checkAnswerMeta,
  checkCallMeta,
  decodeBatch,
  encodeEntry,
  encodeBatch,
  type BatchKind,
  batchKinds,
} from './batch.js';

const call: CallMeta = { id: 7, op: 'getPlant', request: 'r-1', budgetMs: 2000, deadline: 1_767_225_600_000 };
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const batchOf = (...payloads: unknown[]): Buffer =>
  encodeBatch(batchKinds.calls, payloads.map((payload, n) => encodeEntry({ ...call, id: n + 1 }, json(payload))));

/** fast-check's strings of all code points first build a map of a million of them, which takes seconds and 100 MB. */
const anyText = fc.array(fc.nat(0x10ffff)).map((points) => String.fromCodePoint(...points).toWellFormed());

const anyCall: fc.Arbitrary<CallMeta> = fc.record(
  {
    id: fc.maxSafeNat(),
    op: fc.oneof(fc.string(), anyText),
    request: fc.string(),
    traceparent: fc.string(),
    idempotencyKey: fc.string(),
    principal: fc.record({
      subject: fc.uuid(),
      permissions: fc.array(fc.string()),
      shown: fc.array(fc.string()),
      otherCredentials: fc.array(fc.record({ kind: fc.string(), id: fc.string(), subject: fc.uuid() })),
    }, { requiredKeys: ['subject', 'permissions', 'shown'] }),
    budgetMs: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
    deadline: fc.maxSafeNat(),
  },
  { requiredKeys: ['id', 'op', 'request', 'budgetMs', 'deadline'] },
);

const codeOf = (work: () => unknown): string => {
  try {
    work();
    return 'none';
  } catch (error) {
    if (error instanceof CodedError) return error.code;
    throw error;
  }
};

describe('a batch', () => {
  it('has exactly these bytes in every release with batch version 1', () => {
    const batch = encodeBatch(batchKinds.calls, [encodeEntry(call, json({ plantId: 1 }))]);
    expect(batch.toString('latin1')).toBe(
      'RP\x01\x01\0\0\0\x01' +
        '\0\0\0\x51\0\0\0\x0d' +
        '{"id":7,"op":"getPlant","request":"r-1","budgetMs":2000,"deadline":1767225600000}' +
        '{"plantId":1}',
    );
  });

  it('is decoded to what was encoded, for any content', () => {
    const anyEntries = fc.array(fc.tuple(anyCall, fc.uint8Array({ maxLength: 64 })), { maxLength: 5 });
    fc.assert(
      fc.property(fc.constantFrom<BatchKind>(1, 2, 3), anyEntries, (kind, entries) => {
        const batch = encodeBatch(kind, entries.map(([meta, payload]) => encodeEntry(meta, payload)));
        const decoded = decodeBatch<CallMeta>(batch);
        expect(decoded.kind).toBe(kind);
        expect(decoded.entries.map(({ meta }) => JSON.stringify(meta))).toEqual(entries.map(([meta]) => JSON.stringify(meta)));
        expect(decoded.entries.map(({ payload }) => [...payload])).toEqual(entries.map(([, payload]) => [...payload]));
        for (const { meta } of decoded.entries) checkCallMeta(meta);
      }),
    );
  });

  it('is decoded from the middle of a larger buffer, as sockets deliver it', () => {
    const batch = batchOf({ a: 1 }, { b: 2 });
    const buffer = Buffer.concat([Buffer.from('before'), batch, Buffer.from('after')]);
    expect(decodeBatch(buffer.subarray(6, 6 + batch.length)).entries).toHaveLength(2);
  });

  it('may have members that this release does not know', () => {
    const entry = encodeEntry({ ...call, invented: { later: true } } as CallMeta, json({}));
    const [decoded] = decodeBatch<Partial<CallMeta>>(encodeBatch(batchKinds.calls, [entry])).entries;
    expect(() => checkCallMeta(decoded!.meta)).not.toThrow();
  });
});

describe('a malformed batch', () => {
  const batch = batchOf({ a: 1 }, { b: 2 });

  it.each([
    ['no bytes', Buffer.alloc(0)],
    ['less than a header', batch.subarray(0, 7)],
    ['another magic number', Buffer.concat([Buffer.from('XX'), batch.subarray(2)])],
    ['another version', Buffer.concat([batch.subarray(0, 2), Buffer.from([2]), batch.subarray(3)])],
    ['a cut-off entry header', batch.subarray(0, 12)],
    ['a cut-off payload', batch.subarray(0, batch.length - 1)],
    ['bytes after the last entry', Buffer.concat([batch, Buffer.from([0])])],
    ['a count larger than its entries', Buffer.concat([batch.subarray(0, 4), Buffer.from([255, 255, 255, 255]), batch.subarray(8)])],
    ['a length larger than its bytes', Buffer.concat([batch.subarray(0, 8), Buffer.from([255, 255, 255, 255]), batch.subarray(12)])],
    ['metadata that is not JSON', encodeBatch(1, [{ ...encodeEntry({}), meta: '{', metaLength: 1, length: 9 }])],
    ['metadata that is a list', encodeBatch(1, [{ ...encodeEntry({}), meta: '[]', metaLength: 2, length: 10 }])],
    ['metadata that is null', encodeBatch(1, [{ ...encodeEntry({}), meta: 'null', metaLength: 4, length: 12 }])],
  ])('is refused: %s', (_what, bytes) => {
    expect(codeOf(() => decodeBatch(bytes))).toBe('malformed-batch');
  });

  it('is refused with its code and no other error, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(codeOf(() => decodeBatch(bytes))).toBe('malformed-batch');
      }),
    );
  });

  it('is refused with its code or decoded, for any changed bytes of a valid batch', () => {
    const change = fc.tuple(fc.nat(batch.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const changed = Buffer.from(batch);
        for (const [at, byte] of changes) changed[at] = byte;
        const code = codeOf(() => {
          for (const { meta } of decodeBatch<Partial<CallMeta>>(changed).entries) checkCallMeta(meta);
        });
        expect(['none', 'malformed-batch']).toContain(code);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the metadata of a call', () => {
  it.each([
    ['an id that is not an integer', { ...call, id: 1.5 }],
    ['a text id', { ...call, id: '7' }],
    ['no operation', { ...call, op: undefined }],
    ['no request id', { ...call, request: 5 }],
    ['no budget', { ...call, budgetMs: null }],
    ['no deadline', { ...call, deadline: '2026-01-01' }],
    ['a traceparent that is not text', { ...call, traceparent: 5 }],
    ['an Idempotency-Key that is not text', { ...call, idempotencyKey: 5 }],
    ['a principal without permissions', { ...call, principal: { subject: 'a', shown: [] } }],
    ['a principal that is null', { ...call, principal: null }],
    ['permissions that are not texts', { ...call, principal: { subject: 'a', permissions: [5], shown: [] } }],
    ['credentials of others that are no list', { ...call, principal: { subject: 'a', permissions: [], shown: [], otherCredentials: 'b' } }],
    ['a credential of others without its user', { ...call, principal: { subject: 'a', permissions: [], shown: [], otherCredentials: [{ kind: 'apiKey', id: 'k' }] } }],
  ])('is refused with %s', (_what, meta) => {
    expect(codeOf(() => checkCallMeta(meta as Partial<CallMeta>))).toBe('malformed-batch');
  });
});

describe('the metadata of an answer', () => {
  it.each([
    ['a text id', { id: '7' }],
    ['a version that is not an integer', { id: 7, version: 1.5 }],
    ['a cursor that is not text', { id: 7, next: 5 }],
    ['an error that is null', { id: 7, error: null }],
    ['an error without a code', { id: 7, error: { message: 'm' } }],
    ['details that are not an object', { id: 7, error: { code: 'c', message: 'm', details: 5 } }],
  ])('is refused with %s', (_what, meta) => {
    expect(codeOf(() => checkAnswerMeta(meta as Partial<AnswerMeta>))).toBe('malformed-batch');
  });

  it('requires only the id', () => {
    expect(codeOf(() => checkAnswerMeta({ id: 7 }))).toBe('none');
  });
});
