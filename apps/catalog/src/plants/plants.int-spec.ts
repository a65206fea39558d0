import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog } from '@plant-shop/contracts/catalog';
import { CatalogHarness, outcomeOf } from '../catalog.harness.js';

describe('plants', () => {
  let shop: CatalogHarness;
  beforeAll(async () => {
    shop = await CatalogHarness.start();
  });
  afterAll(() => shop.stop());

  it('a plant that was created is read as it was sent, and its stock is open', async () => {
    const sent = {
      id: 10,
      name: 'Ficus',
      category: { id: 1, name: 'Trees' },
      photoUrls: ['https://example.org/1.jpg', 'photo'],
      tags: [{ id: 7, name: 'indoor' }],
      status: 'pending' as const,
    };
    expect(await shop.caller.call(catalog.createPlant, { plant: { ...sent, quantity: 3 } })).toEqual(sent);
    expect(await shop.caller.call(catalog.getPlant, { plantId: 10 })).toEqual(sent);
    expect(shop.store.shelves.get(10)).toMatchObject({ listing: 'pending', units: 3 });
    expect(await shop.database.query('SELECT * FROM stock_intents')).toEqual([]);
  });

  it('a name is enough', async () => {
    const plant = await shop.create();
    expect(plant).toEqual({ id: expect.any(Number), name: 'Monstera', photoUrls: [], tags: [], status: 'available' });
    expect(plant.id).toBeGreaterThanOrEqual(1_000_000_001);
  });

  it('an unknown plant is not found', async () => {
    expect(await outcomeOf(shop.caller.call(catalog.getPlant, { plantId: 404 }))).toBe('plant-not-found');
  });
});
