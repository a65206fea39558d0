import { describe, expect, it } from '@jest/globals';
import { labelsToFill } from './labels.js';

describe('labels that need an id', () => {
  it('are those without one, each name once, tags and categories apart', () => {
    expect(
      labelsToFill({
        category: { name: 'indoor' },
        tags: [{ name: 'indoor' }, { id: 0, name: 'indoor' }, { id: 7, name: 'rare' }, { name: 'a:b' }],
      }),
    ).toEqual([
      { kind: 'tag', name: 'indoor' },
      { kind: 'tag', name: 'a:b' },
      { kind: 'category', name: 'indoor' },
    ]);
  });

  it('do not include a category without a name', () => {
    expect(labelsToFill({ category: {} })).toEqual([]);
    expect(labelsToFill({ category: { id: 3, name: 'Trees' } })).toEqual([]);
  });
});
