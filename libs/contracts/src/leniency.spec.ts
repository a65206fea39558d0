import { describe, expect, it } from '@jest/globals';
import { validated } from '@plant-shop/platform/rpc/validation';
import { CreatePlant } from './catalog.js';
import { PlaceOrder } from './store.js';

const shipDateOf = (shipDate: string): string | undefined => validated(PlaceOrder, { order: { plantId: 1, shipDate } }).order.shipDate;
const categoryOf = (category: unknown): unknown => validated(CreatePlant, { plant: { name: 'Fern', category } }).plant.category;

describe('input of generated clients', () => {
  it.each([
    ['2026-05-01T09:30:00.000+0000', '2026-05-01T09:30:00.000+00:00'],
    ['2026-05-01T09:30:00+00', '2026-05-01T09:30:00+00:00'],
    ['2026-05-01T09:30:00.5-0730', '2026-05-01T09:30:00.5-07:30'],
  ])('may have a date-time with the offset of %s', (given, rewritten) => {
    expect(shipDateOf(given)).toBe(rewritten);
    expect(Number.isNaN(Date.parse(rewritten))).toBe(false);
  });

  it.each(['2026-05-01T09:30:00.000Z', '2026-05-01T09:30:00+02:00'])('%s is accepted unchanged', (given) => {
    expect(shipDateOf(given)).toBe(given);
  });

  it.each([
    '2026-05-01T09:30:00',
    '2026-05-01',
    '2026-05-01T09:30:00+0',
    '2026-05-01T09:30:00+000',
    '2026-05-01T09:30:00+25',
    '2026-05-01T09:30:00+0060',
    '2026-05-01+00',
    '+00',
  ])('%s is refused', (given) => expect(() => shipDateOf(given)).toThrow(expect.objectContaining({ code: 'invalid-input' })));

  const emptyCategories = [{}, { id: 0 }, { id: 0, name: '' }, { name: '' }, { id: null, name: null }, null];
  it.each(emptyCategories.map((one) => [one]))('the category %j counts as absent', (given) => {
    expect(categoryOf(given)).toBeUndefined();
  });

  it('a category with an id or a name is accepted', () => {
    expect(categoryOf({ id: 0, name: 'Ferns' })).toEqual({ id: 0, name: 'Ferns' });
    expect(categoryOf({ id: 3 })).toEqual({ id: 3 });
  });

  it.each([[{ id: 3, name: '' }], [{ id: '0' }], [[]], ['']])('the category %j is refused', (given) => {
    expect(() => categoryOf(given)).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });
});
