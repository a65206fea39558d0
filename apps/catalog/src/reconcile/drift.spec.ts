import { describe, expect, it } from '@jest/globals';
import type { KnownStock } from '@plant-shop/contracts/reconcile';
import fc from 'fast-check';
import { type ComparedPlant, countPlantIds, driftsOf, isBehind, pageOf, plantIdOf } from './drift.js';

const plant = (state: Partial<ComparedPlant> = {}): ComparedPlant => ({
  id: 7,
  incarnation: 10,
  version: 12,
  status: 'available',
  hasIntent: false,
  ...state,
});
const stock = (state: Partial<KnownStock> = {}): KnownStock => ({
  plantId: 7,
  incarnation: 10,
  listing: 'available',
  listingVersion: 10,
  ...state,
});
const between = (plants: ComparedPlant[], known: KnownStock[]) =>
  driftsOf({ plants, stock: known, upTo: undefined }).map(({ drift }) => drift);

describe('differences between catalog and store', () => {
  it('none for the same incarnation with the same status', () => {
    expect(between([plant()], [stock()])).toEqual([]);
    expect(between([], [stock({ listing: 'retired' })])).toEqual([]);
    expect(between([plant({ version: 5, incarnation: 5 })], [stock({ incarnation: 5, listingVersion: 9 })])).toEqual([]);
  });

  it('a plant whose stock is unknown, or of an earlier incarnation', () => {
    expect(between([plant()], [])).toEqual(['stock-missing']);
    expect(between([plant()], [stock({ incarnation: 9 })])).toEqual(['stock-missing']);
    expect(between([plant()], [stock({ incarnation: 9, listing: 'retired' })])).toEqual(['stock-missing']);
  });

  it('a status that the store has not received, or that the catalog has lost', () => {
    expect(between([plant()], [stock({ listing: 'sold' })])).toEqual(['listing-differs']);
    expect(isBehind(plant(), stock({ listingVersion: 11 }))).toBe(false);
    expect(isBehind(plant(), stock({ listingVersion: 13 }))).toBe(true);
  });

  it('a deleted plant: the store has its tombstone, or a later incarnation', () => {
    expect(between([plant()], [stock({ listing: 'retired' })])).toEqual(['plant-deleted']);
    expect(between([plant()], [stock({ incarnation: 11, listing: 'retired' })])).toEqual(['plant-deleted']);
    expect(between([plant()], [stock({ incarnation: 11 })])).toEqual(['plant-deleted', 'plant-missing']);
  });

  it('stock of a plant that does not exist', () => {
    expect(between([], [stock()])).toEqual(['plant-missing']);
  });

  it('none for a plant with an intent', () => {
    for (const known of [[], [stock({ listing: 'sold' })], [stock({ listing: 'retired' })], [stock({ incarnation: 9 })]]) {
      expect(between([plant({ hasIntent: true })], known)).toEqual([]);
    }
  });
});

describe('pages', () => {
  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 60 })).map((list) => list.sort((a, b) => a - b));

  it('cover every id of either side exactly once, whatever their size', () => {
    fc.assert(
      fc.property(ids, ids, fc.integer({ min: 1, max: 7 }), (here, there, limit) => {
        const found: number[] = [];
        let checked = 0;
        for (let after: number | undefined = 0; after !== undefined; ) {
          const start: number = after;
          const above = (list: readonly number[]) => list.filter((id) => id > start).slice(0, limit);
          const page = pageOf(
            above(here).map((id) => plant({ id })),
            above(there).map((plantId) => stock({ plantId })),
            limit,
          );
          found.push(...driftsOf(page).map(plantIdOf));
          checked += countPlantIds(page);
          after = page.upTo;
        }
        const differing = [...new Set([...here, ...there])].filter((id) => here.includes(id) !== there.includes(id));
        expect(found).toEqual(differing.sort((a, b) => a - b));
        expect(checked).toBe(new Set([...here, ...there]).size);
      }),
    );
  });
});
