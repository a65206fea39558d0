import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import { validated } from '@plant-shop/platform/rpc/validation';
import { catalog } from './catalog.js';
import { identity } from './identity.js';
import { notifications } from './notifications.js';
import { type Sample, type Samples, samplesOf } from './samples.js';
import { store } from './store.js';

/** `releases/<service>.json`: what the last release of a service answered and took, kept by `npm run freeze`. */
interface Release {
  readonly samples: Samples;
  /** Changes that break a neighbour and are wanted, with the reason. */
  readonly wanted: Readonly<Record<string, string>>;
}

type Operations = Readonly<Record<string, Operation<object, unknown>>>;
const services: readonly (readonly [string, Operations])[] = Object.entries<Operations>({ catalog, store, identity, notifications });
const releaseOf = (service: string): Release =>
  JSON.parse(readFileSync(new URL(`../../../releases/${service}.json`, import.meta.url), 'utf8')) as Release;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const kindOf = (value: unknown): string => (Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value);

/** The members that any element of a list has. */
const anyOf = (list: readonly unknown[]): unknown => (list.every(isObject) ? Object.assign({}, ...list) as unknown : list[0]);

/** Members of `wanted` that `given` lacks or has with another type. */
function missing(wanted: unknown, given: unknown, path: string): string[] {
  if (wanted === null || given === null) return [];
  if (kindOf(wanted) !== kindOf(given)) return [`${path} is ${kindOf(given)} and was ${kindOf(wanted)}`];
  if (Array.isArray(wanted) && Array.isArray(given)) {
    return wanted.length === 0 || given.length === 0 ? [] : missing(anyOf(wanted), anyOf(given), `${path}/*`);
  }
  if (!isObject(wanted) || !isObject(given)) return [];
  return Object.entries(wanted).flatMap(([name, one]) =>
    given[name] === undefined ? [`${path}/${name} is gone`] : missing(one, given[name], `${path}/${name}`),
  );
}

/** Members of both, of another type. */
const retyped = (one: unknown, other: unknown, path: string): string[] => missing(one, other, path).filter((fault) => !fault.endsWith(' is gone'));

/** What breaks callers, or the service, of the last release. */
function breaks(
  pattern: string,
  before: Sample<object, unknown>,
  operation: Operation<object, unknown> | undefined,
  today: Sample<object, unknown> | undefined,
): string[] {
  if (!operation || !today) return [`${pattern} is gone`];
  return [
    ...refusal(operation, before.request).map((why) => `${pattern} refuses the request of the last release: ${why}`),
    ...missing(before.answer, today.answer, `${pattern} answer`),
    ...missing(before.facts ?? {}, today.facts ?? {}, `${pattern} facts`),
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

describe.each(services)('%s, beside its neighbours of another release', (service, operations) => {
  const { samples, wanted } = releaseOf(service);
  const today = samplesOf(service);
  const released = Object.entries(samples).map(([name, sample]) => ({
    name,
    found: breaks(`${service}.${name}`, sample, operations[name], today[name]),
  }));

  it('has a release to be compared with', () => expect(released).not.toEqual([]));

  it.each(released)('$name breaks nobody, unless the release says that it is wanted', ({ found }) => {
    expect(found.filter((one) => !wanted[one])).toEqual([]);
  });

  it('wants only changes that there are', () => {
    const found = released.flatMap((one) => one.found);
    expect(Object.keys(wanted).filter((one) => one.startsWith(`${service}.`) && !found.includes(one))).toEqual([]);
  });
});

describe('a change that breaks a neighbour', () => {
  const sample: Sample<object, unknown> = { request: { orderId: 7 }, answer: { id: 7, events: [{ kind: 'a' }] }, facts: { version: 1 } };
  const changes = (today: Partial<Sample<object, unknown>>, operation: Operation<object, unknown> | undefined = store.getOrder): string[] =>
    breaks('store.getOrder', sample, operation, { ...sample, ...today });

  it('is none when members are added', () => {
    expect(changes({ answer: { id: 7, events: [{ kind: 'a', more: 1 }], more: 1 }, request: { orderId: 7, more: 1 } })).toEqual([]);
  });

  it('is found wherever it is', () => {
    expect(breaks('store.getOrder', sample, undefined, sample)).toEqual(['store.getOrder is gone']);
    expect(changes({}, store.placeOrder)).toEqual([expect.stringContaining('store.getOrder refuses the request of the last release: ')]);
    expect(changes({ answer: { id: '7', events: [{}] } })).toEqual([
      'store.getOrder answer/id is string and was number',
      'store.getOrder answer/events/*/kind is gone',
    ]);
    expect(changes({ facts: {} })).toEqual(['store.getOrder facts/version is gone']);
    expect(changes({ request: { orderId: '7' } })).toEqual(['store.getOrder request/orderId is string and was number']);
  });
});
