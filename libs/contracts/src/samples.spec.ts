import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { CodedError } from '@plant-shop/platform/errors';
import {
  type AnswerMeta,
  type CallMeta,
  checkAnswerMeta,
  checkCallMeta,
  checkClockReading,
  type ClockReading,
  decodeBatch,
  encodeEntry,
  encodeBatch,
  type BatchKind,
  batchKinds,
} from '@plant-shop/platform/rpc/batch';
import { NoPayload, type Operation } from '@plant-shop/platform/rpc/operation';
import { parseJson, validated } from '@plant-shop/platform/rpc/validation';
import { validateSync } from 'class-validator';
import fc from 'fast-check';
import { catalog } from './catalog.js';
import { identity } from './identity.js';
import { notifications } from './notifications.js';
import { sampleOf, samplesOf } from './samples.js';
import { schemaOfClass } from './schema.js';
import { store } from './store.js';

interface SampleBatch {
  readonly kind: BatchKind;
  readonly entries: readonly { readonly meta: CallMeta | AnswerMeta | ClockReading; readonly payload?: unknown }[];
  readonly hex: readonly string[];
}

const operations: readonly Operation<object, unknown>[] = [catalog, store, identity, notifications].flatMap((one) =>
  Object.values<Operation<object, unknown>>(one),
);
const sampled = ['catalog', 'store', 'identity', 'notifications'].flatMap((service) =>
  Object.keys(samplesOf(service)).map((name) => `${service}.${name}`),
);
/** Operations with a sample; the first test reports those without. */
const byPattern = operations
  .filter(({ pattern }) => sampled.includes(pattern))
  .map((operation) => [operation.pattern, operation] as const);
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Returns a valid payload as the service gets it, or undefined if it is refused as invalid. Any other error is a defect. */
function accepted(operation: Operation<object, unknown>, payload: unknown): object | undefined {
  try {
    return validated(operation.payload, payload);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    expect(error.code).toBe('invalid-input');
    expect(error.details.errors?.length).toBeGreaterThan(0);
    return undefined;
  }
}

/** Returns every place in a value, each with a function that returns a copy of the value with something else there. */
function placesIn(value: unknown): { readonly at: unknown; readonly replaced: (by: unknown) => unknown }[] {
  const below = (): { at: unknown; replaced: (by: unknown) => unknown }[] => {
    if (Array.isArray(value)) {
      const list: unknown[] = value;
      return list.flatMap((one, n) =>
        placesIn(one).map(({ at, replaced }) => ({ at, replaced: (by: unknown) => list.with(n, replaced(by)) })),
      );
    }
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([name, one]) =>
      placesIn(one).map(({ at, replaced }) => ({ at, replaced: (by: unknown) => ({ ...value, [name]: replaced(by) }) })),
    );
  };
  return [{ at: value, replaced: (by) => by }, ...below()];
}
/** Values that are invalid in most places, or would do harm if accepted. */
const nasty = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(null, -1, 0, 1.5, 2 ** 53, 1e21, '', '\0', '\ud800', 'x'.repeat(5_000), [], [null], [[]], {}),
  fc.constantFrom<unknown>(parseJson(Buffer.from('{"__proto__":1}')), { constructor: 1 }, { length: 1e9 }, { then: 1 }),
);
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);

describe('the sample messages', () => {
  it('exist for every operation, and for nothing else', () => {
    expect(sampled.toSorted()).toEqual(operations.map(({ pattern }) => pattern).sort());
  });

  it.each(byPattern)('%s: the request is valid, and all its members are declared', (_, operation) => {
    const { request } = sampleOf(operation);
    expect(plain(validated(operation.payload, request))).toEqual(request);
  });

  it.each(byPattern)('%s: the answer is JSON with known metadata', (_, operation) => {
    const { answer, meta = {} } = sampleOf(operation);
    expect(answer).toBeDefined();
    expect(() => checkAnswerMeta({ id: 1, ...meta })).not.toThrow();
    expect(['version', 'next', 'replayed']).toEqual(expect.arrayContaining(Object.keys(meta)));
  });
});

describe('every operation', () => {
  it.each(byPattern)('%s refuses lists, texts and numbers in place of an object', (_, operation) => {
    const places = placesIn(sampleOf(operation).request).filter(({ at }) => isObject(at)).slice(1);
    for (const { at, replaced } of places) {
      for (const other of [[at], [], [[at]], 'text', 5]) {
        expect([other, accepted(operation, replaced(other))]).toEqual([other, undefined]);
      }
    }
  });

  it.each(byPattern)('%s requires its objects, apart from filters', (_, operation) => {
    const { request } = sampleOf(operation);
    const { properties } = schemaOfClass(operation.payload);
    for (const [name, one] of Object.entries(request)) {
      // Others are pairs of texts of a list's filter.
      if (isObject(one) && properties[name]?.objectOf) expect([name, accepted(operation, { ...request, [name]: undefined })]).toEqual([name, undefined]);
    }
  });

  it.each(byPattern)('%s accepts or refuses any value in any place, never fails, and accepts nothing that class-validator refuses', (_, operation) => {
    const places = placesIn(sampleOf(operation).request);
    const added = fc.tuple(fc.constantFrom('constructor', 'toString', 'isAdmin', 'limit'), nasty);
    fc.assert(
      fc.property(fc.constantFrom(...places), nasty, fc.option(added), (place, value, member) => {
        const payload = place.replaced(isObject(value) && member ? { ...value, [member[0]]: member[1] } : value);
        const instance = accepted(operation, payload);
        if (instance !== undefined && operation.payload !== NoPayload) expect(validateSync(instance, { forbidUnknownValues: true })).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the batches of version 1', () => {
  const recorded = readFileSync(new URL('../samples/batches.json', import.meta.url), 'utf8');
  const batches = JSON.parse(recorded) as Readonly<Record<string, SampleBatch>>;
  const all = Object.entries(batches);

  it('are explained in the README by a recorded one', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const dump = [...readme.matchAll(/^[0-9a-f]{4} {2}((?: ?[0-9a-f]{2}| )+?) {3,}/gm)].map(([, bytes]) => bytes).join('');
    expect(dump.replaceAll(' ', '')).toBe(batches['a-call-alone']?.hex.join(''));
  });

  it('are recorded for every kind', () => {
    expect(new Set(all.map(([, batch]) => batch.kind))).toEqual(new Set(Object.values(batchKinds)));
  });

  it.each(all)('%s is decoded as recorded', (_, { kind, entries, hex }) => {
    const decoded = decodeBatch<Partial<CallMeta & AnswerMeta & ClockReading>>(Buffer.from(hex.join(''), 'hex'));
    expect(decoded.kind).toBe(kind);
    expect(decoded.entries.map(({ meta }) => meta)).toEqual(entries.map(({ meta }) => meta));
    for (const [n, { meta, payload }] of decoded.entries.entries()) {
      const expected = entries[n]?.payload;
      expect(parseJson(payload)).toEqual(expected === undefined ? {} : expected);
      if (kind === batchKinds.calls) checkCallMeta(meta);
      else if (kind === batchKinds.clockReading) checkClockReading(meta);
      else checkAnswerMeta(meta);
    }
  });

  it.each(all)('%s is encoded as recorded', (_, { kind, entries, hex }) => {
    const encoded = entries.map(({ meta, payload }) =>
      encodeEntry(meta, payload === undefined ? undefined : Buffer.from(JSON.stringify(payload))),
    );
    expect(encodeBatch(kind, encoded).toString('hex')).toBe(hex.join(''));
  });
});
