import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import { validated } from '@plant-shop/platform/rpc/validation';
import { catalog } from './catalog.js';
import { identity } from './identity.js';
import { notifications } from './notifications.js';
import { type Sample, sampleOf } from './samples.js';
import { store } from './store.js';

/**
 * What was agreed to change, with the reason: an operation by its pattern, a member by `<pattern> <request|answer>/<path>`.
 * Only what the release before neither sends nor reads any more. `npm run freeze` is the time to empty it.
 */
const agreed: Readonly<Record<string, string>> = {};

const folder = new URL('../samples/previous/', import.meta.url);
const operations = new Map<string, Operation<object, unknown>>(
  [catalog, store, identity, notifications].flatMap((one) =>
    Object.values<Operation<object, unknown>>(one).map((operation) => [operation.pattern, operation] as const),
  ),
);
const before = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => ({
    pattern: name.slice(0, -'.json'.length),
    sample: JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Sample<object, unknown>,
  }))
  .filter(({ pattern }) => agreed[pattern] === undefined);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const kindOf = (value: unknown): string => (Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value);

/** What an element of a list may have: not every one has all. */
const anyOf = (list: readonly unknown[]): unknown => (list.every(isObject) ? Object.assign({}, ...list) as unknown : list[0]);

/** Members that `given` has and a reader of `wanted` does not find there, or not of their type. */
function missing(wanted: unknown, given: unknown, path: string): string[] {
  if (agreed[path] !== undefined || wanted === null || given === null) return [];
  if (kindOf(wanted) !== kindOf(given)) return [`${path} is ${kindOf(given)} and was ${kindOf(wanted)}`];
  if (Array.isArray(wanted) && Array.isArray(given)) {
    return wanted.length === 0 || given.length === 0 ? [] : missing(anyOf(wanted), anyOf(given), `${path}/*`);
  }
  if (!isObject(wanted) || !isObject(given)) return [];
  return Object.entries(wanted).flatMap(([name, one]) => {
    const at = `${path}/${name}`;
    if (given[name] === undefined) return agreed[at] === undefined ? [`${at} is gone`] : [];
    return missing(one, given[name], at);
  });
}

/** Members of both, of another type. */
const changed = (one: unknown, other: unknown, path: string): string[] => missing(one, other, path).filter((fault) => !fault.endsWith('is gone'));

describe('beside the release before', () => {
  it('something is kept to be held against', () => expect(before.length).toBeGreaterThan(50));

  it.each(before)('$pattern is still there, and takes what the release before asks', ({ pattern, sample }) => {
    const operation = operations.get(pattern);
    if (!operation) throw new Error(`${pattern} is gone: callers of the release before still ask for it`);
    expect(() => validated(operation.payload, sample.request)).not.toThrow();
  });

  it.each(before)('$pattern answers all that callers of the release before read', ({ pattern, sample }) => {
    const today = sampleOf({ pattern } as Operation<object, unknown>);
    expect(missing(sample.answer, today.answer, `${pattern} answer`)).toEqual([]);
    expect(Object.keys(today.facts ?? {})).toEqual(expect.arrayContaining(Object.keys(sample.facts ?? {})));
  });

  it.each(before)('$pattern asks nothing of another type than the release before takes', ({ pattern, sample }) => {
    const today = sampleOf({ pattern } as Operation<object, unknown>);
    expect(changed(sample.request, today.request, `${pattern} request`)).toEqual([]);
  });
});
