import { describe, expect, it } from '@jest/globals';
import { checkAll, countedPlants, type ListLength, type MeasuredLists, planSearch } from './search-plan.js';

const word = (name: string, ...lengths: ListLength[]): MeasuredLists => ({
  lists: { of: 'words', terms: lengths.map((_, n) => ({ word: `${name}${n}`, distance: n })) },
  lengths,
});
const few = (plants: number): ListLength => ({ plants, oldest: 1 });
/** As many plants as are counted, and more: the newest lie between this incarnation and 1,000,000. */
const many = (oldest: number): ListLength => ({ plants: countedPlants, oldest });

describe('the plan of a search', () => {
  it('reads the most selective condition', () => {
    const tags: MeasuredLists = { lists: { of: 'tags', values: ['shade'] }, lengths: [few(9)] };
    expect(planSearch([word('plant', many(999_000)), tags, word('fern', few(30))], { of: 'all' }).driver).toEqual(tags.lists);
  });

  it('extrapolates the length of partly counted lists from the density of their newest entries', () => {
    const rare = word('rare', many(10));
    expect(planSearch([word('common', many(999_000)), rare], { of: 'all' }).driver).toEqual(rare.lists);
  });

  it('reads the words with many completions rather than look each of them up', () => {
    const prefix = word('p', few(10), few(10), few(10), few(10));
    const tags: MeasuredLists = { lists: { of: 'tags', values: ['shade'] }, lengths: [few(30)] };
    expect(planSearch([tags, prefix], { of: 'all' }).driver).toEqual(prefix.lists);
  });

  it('checks the other words plant by plant, and reads fewer candidates the more each check costs', () => {
    const plan = planSearch([word('fern', few(3)), word('p', many(1), many(2), many(3), many(4))], { of: 'all' });
    expect(plan.others).toEqual([expect.arrayContaining([{ word: 'p0', distance: 0 }])]);
    expect(plan.scan).toBe(1_000);
    expect(checkAll(plan)).toMatchObject({ driver: { of: 'all' }, others: [{ length: 4 }, { length: 1 }], scan: 800 });
  });

  it('reads the fallback if no condition has an index', () => {
    const status = { of: 'status', values: ['sold'] } as const;
    expect(planSearch([], status)).toEqual({ driver: status, others: [], scan: 1_000, candidates: 1_000 });
  });
});
