import { describe, expect, it } from '@jest/globals';
import { changedFilter, isFiltered, matchesSearch, sortOf } from './changed-filter.js';
import { type PlantFilter, readPlantFilter } from './plant-filter.js';

describe('the plant filter', () => {
  it('ignores invalid parameters', () => {
    expect(readPlantFilter({ q: 12, status: 'sold', tags: ['a', '', 3, {}], category: '', sort: 'random', other: 1 })).toEqual({ q: '12', status: ['sold'], tags: ['a', '3'] });
    expect(readPlantFilter({ status: ['sold', 'lost', 'available'], sort: 'name' })).toEqual({ status: ['sold', 'available'], sort: 'name' });
  });

  it('drops emptied parameters', () => {
    expect(changedFilter({ q: 'fern', tags: ['a'], category: 'x' }, { q: '', tags: [], category: undefined })).toEqual({});
    expect(isFiltered({ sort: 'name' })).toBe(false);
    expect(isFiltered({ q: 'fern' })).toBe(true);
  });

  it('sorts by units only where they are known', () => {
    expect([{}, { q: 'fern' }, { stock: 'low' } as const, { sort: 'stock' } as const, { stock: 'low', sort: 'name' } as const, { stock: 'uncounted', sort: 'name' } as const].map(sortOf)).toEqual(['newest', 'relevance', 'stock', 'newest', 'name', 'newest']);
  });

  it('finds plants by the beginnings of words, a status, a category and any of the tags', () => {
    const fern: Parameters<typeof matchesSearch>[0] = { name: 'Boston Fern', status: 'pending', category: { name: 'House plants' }, tags: [{ id: 1, name: 'shade' }, { id: 2, name: 'pet safe' }] };
    const matching: PlantFilter[] = [{}, { q: 'fer bost' }, { q: 'SAFE house' }, { status: ['sold', 'pending'] }, { category: 'House plants' }, { tags: ['sun', 'shade'] }];
    const others: PlantFilter[] = [{ q: 'fern moss' }, { q: 'ern' }, { status: ['sold'] }, { category: 'House' }, { tags: ['sun'] }];
    expect([...matching, ...others].filter((filter) => matchesSearch(fern, filter))).toEqual(matching);
  });
});
