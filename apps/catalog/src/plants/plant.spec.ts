import { describe, expect, it } from '@jest/globals';
import type { LabelIds } from '../labels/labels.js';
import { assertVersion, attributesOf, bytesOf, changesOf, ofNewPlant, pairsOf, type PlantState, tagNames, toPlant, withPhoto } from './plant.js';

const ids: LabelIds = new Map([
  ['tag:indoor', 100],
  ['category:Trees', 200],
]);

const plant = (state: Partial<PlantState> = {}): PlantState => ({
  id: 1,
  incarnation: 5,
  version: 8,
  name: 'Ficus',
  category: null,
  photoUrls: [],
  tags: [],
  ...ofNewPlant,
  updatedAt: new Date('2026-05-01T09:30:00.000Z'),
  ...state,
});

describe('attributes of a plant', () => {
  it('fill in missing ids and leave given ones, even if the name has another id', () => {
    const given = { name: 'Ficus', category: { name: 'Trees' }, tags: [{ name: 'indoor' }, { id: 3, name: 'indoor' }] };
    expect(attributesOf(given, ids, ofNewPlant)).toEqual({
      name: 'Ficus',
      category: { id: 200, name: 'Trees' },
      photoUrls: [],
      tags: [
        { id: 100, name: 'indoor' },
        { id: 3, name: 'indoor' },
      ],
      ...ofNewPlant,
    });
  });

  it('take the current status, external id and metadata if none are given', () => {
    const current = { status: 'sold', externalId: 'E-1', metadata: { colour: 'red' } } as const;
    expect(attributesOf({ name: 'Ficus' }, ids, current)).toMatchObject(current);
    expect(attributesOf({ name: 'Ficus', status: 'pending', externalId: null, metadata: {} }, ids, current)).toMatchObject({ ...ofNewPlant, status: 'pending' });
  });

  it('have pairs of metadata that are alike only if key and value are', () => {
    expect(pairsOf({ a: 'b', c: 'd' })).toEqual([...pairsOf({ a: 'b' }), ...pairsOf({ c: 'd' })]);
    expect(new Set([{ a: 'b' }, { ab: '' }, { '': 'ab' }, { 'a","b': '' }].flatMap(pairsOf)).size).toBe(4);
  });

  it.each([
    [{ id: 3 }, { id: 3 }],
    [{ id: 0 }, {}],
    [{}, {}],
    [{ id: 3, name: 'Trees' }, { id: 3, name: 'Trees' }],
  ])('store the category %j as %j', (category, kept) => {
    expect(attributesOf({ name: 'Ficus', category }, ids, ofNewPlant).category).toEqual(kept);
  });

  it('are not changed by a form without name and status', () => {
    expect(changesOf({ name: 'Fig' })).toEqual({ name: 'Fig' });
    expect(changesOf({ status: 'sold' })).toEqual({ status: 'sold' });
    expect(() => changesOf({})).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });
});

describe('a plant', () => {
  it('is shown without absent members, and always with its lists', () => {
    const shown = toPlant(plant());
    expect(shown).toEqual({ id: 1, name: 'Ficus', photoUrls: [], tags: [], status: 'available', updatedAt: '2026-05-01T09:30:00.000Z' });
    expect(bytesOf(plant())).toBe(JSON.stringify(shown).length);
  });

  it('is indexed by each tag name once', () => {
    const tags = [
      { id: 1, name: 'indoor' },
      { id: 2, name: 'indoor' },
      { id: 3, name: 'rare' },
    ];
    expect(tagNames(plant({ tags }))).toEqual(['indoor', 'rare']);
  });

  it('has at most 64 photographs, uploaded ones included', () => {
    const photoUrls = Array.from({ length: 63 }, (_, n) => `${n}.jpg`);
    const full = withPhoto(plant({ photoUrls }), 'last.jpg');
    expect(full.photoUrls).toEqual([...photoUrls, 'last.jpg']);
    expect(() => withPhoto(full, 'more.jpg')).toThrow(expect.objectContaining({ code: 'too-many-photos' }));
  });

  it('is changed only at the expected version, if one is given', () => {
    assertVersion(plant(), undefined);
    assertVersion(plant(), 8);
    expect(() => assertVersion(plant(), 7)).toThrow(expect.objectContaining({ code: 'precondition-failed' }));
  });
});
