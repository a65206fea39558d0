import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import { validated } from '@plant-shop/platform/rpc/validation';
import { catalog } from './catalog.js';
import { identity } from './identity.js';
import { notifications } from './notifications.js';
import { type Sample, type Samples, samplesOf } from './samples.js';
import { store } from './store.js';

/** `releases/<service>.json`: the samples of a service's last release, written by `npm run freeze`. */
interface Release {
  readonly samples: Samples;
  /** Intended breaking changes, with the reason. */
  readonly wanted: Readonly<Record<string, string>>;
}

type Operations = Readonly<Record<string, Operation<object, unknown>>>;
const services: readonly (readonly [string, Operations])[] = Object.entries<Operations>({ catalog, store, identity, notifications });
const fileOf = (service: string): URL => new URL(`../../../releases/${service}.json`, import.meta.url);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const kindOf = (value: unknown): string => (Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value);

/** The union of the members of a list's elements. */
const anyOf = (list: readonly unknown[]): unknown => (list.every(isObject) ? Object.assign({}, ...list) as unknown : list[0]);

/** Returns the members of `before` that `now` lacks or has with another type. */
function missing(before: unknown, now: unknown, path: string): string[] {
  if (before === null || now === null) return [];
  if (kindOf(before) !== kindOf(now)) return [`${path} is ${kindOf(now)} and was ${kindOf(before)}`];
  if (Array.isArray(before) && Array.isArray(now)) {
    return before.length === 0 || now.length === 0 ? [] : missing(anyOf(before), anyOf(now), `${path}/*`);
  }
  if (!isObject(before) || !isObject(now)) return [];
  return Object.entries(before).flatMap(([name, one]) =>
    now[name] === undefined ? [`${path}/${name} is gone`] : missing(one, now[name], `${path}/${name}`),
  );
}

/** Returns the members that both have, with different types. */
const retyped = (before: unknown, now: unknown, path: string): string[] =>
  missing(before, now, path).filter((fault) => !fault.endsWith(' is gone'));

/** Returns the changes that break callers, or the service, of the last release. */
function breakingChanges(
  pattern: string,
  before: Sample<object, unknown>,
  operation: Operation<object, unknown> | undefined,
  today: Sample<object, unknown> | undefined,
): string[] {
  if (!operation || !today) return [`${pattern} is gone`];
  return [
    ...refusal(operation, before.request).map((reason) => `${pattern} refuses the request of the last release: ${reason}`),
    ...missing(before.answer, today.answer, `${pattern} answer`),
    ...missing(before.meta ?? {}, today.meta ?? {}, `${pattern} meta`),
    ...retyped(before.request, today.request, `${pattern} request`),
  ];
}

function refusal({ payload }: Operation<object, unknown>, request: object): string[] {
  try {
    validated(payload, request);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

for (const [service, operations] of services.filter(([name]) => existsSync(fileOf(name)))) describe(`${service}, next to services of the last release`, () => {
  const { samples, wanted } = JSON.parse(readFileSync(fileOf(service), 'utf8')) as Release;
  const today = samplesOf(service);
  const released = Object.entries(samples).map(([name, sample]) => ({
    name,
    found: breakingChanges(`${service}.${name}`, sample, operations[name], today[name]),
  }));

  it('has a release to compare with', () => expect(released).not.toEqual([]));

  it.each(released)('$name has no breaking change, except those listed as intended', ({ found }) => {
    expect(found.filter((one) => !wanted[one])).toEqual([]);
  });

  it('lists only breaking changes that exist', () => {
    const found = released.flatMap((one) => one.found);
    expect(Object.keys(wanted).filter((one) => one.startsWith(`${service}.`) && !found.includes(one))).toEqual([]);
  });
});

describe('a breaking change', () => {
  const sample: Sample<object, unknown> = { request: { orderId: 7 }, answer: { id: 7, events: [{ kind: 'a' }] }, meta: { version: 1 } };
  const changes = (today: Partial<Sample<object, unknown>>, operation: Operation<object, unknown> | undefined = store.getOrder): string[] =>
    breakingChanges('store.getOrder', sample, operation, { ...sample, ...today });

  it('is not an added member', () => {
    expect(changes({ answer: { id: 7, events: [{ kind: 'a', more: 1 }], more: 1 }, request: { orderId: 7, more: 1 } })).toEqual([]);
  });

  it('is found at every level', () => {
    expect(breakingChanges('store.getOrder', sample, undefined, sample)).toEqual(['store.getOrder is gone']);
    expect(changes({}, store.placeOrder)).toEqual([expect.stringContaining('store.getOrder refuses the request of the last release: ')]);
    expect(changes({ answer: { id: '7', events: [{}] } })).toEqual([
      'store.getOrder answer/id is string and was number',
      'store.getOrder answer/events/*/kind is gone',
    ]);
    expect(changes({ meta: {} })).toEqual(['store.getOrder meta/version is gone']);
    expect(changes({ request: { orderId: '7' } })).toEqual(['store.getOrder request/orderId is string and was number']);
  });
});
