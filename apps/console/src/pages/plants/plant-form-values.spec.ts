import { describe, expect, it } from '@jest/globals';
import type { Plant } from './plant-filter.js';
import { differences, formOf, plantOfForm } from './plant-form-values.js';

const plant: Plant = { id: 7, name: 'Fern', category: { id: 3, name: 'Foliage' }, photoUrls: [], tags: [{ id: 1, name: 'shade' }], status: 'sold', updatedAt: '2026-01-01T00:00:00.000Z' };

describe('the plant form', () => {
  it('keeps the ids of an unchanged category and unchanged tags', () => {
    expect(plantOfForm(formOf(plant), plant)).toEqual({ name: 'Fern', category: { id: 3, name: 'Foliage' }, tags: [{ id: 1, name: 'shade' }], status: 'sold' });
    expect(plantOfForm({ ...formOf(plant), category: ' Trees ', tags: ['wet', 'shade'] }, plant)).toMatchObject({ category: { name: 'Trees' }, tags: [{ name: 'wet' }, { id: 1, name: 'shade' }] });
  });

  it('omits an empty category, but keeps a category without a name', () => {
    expect(plantOfForm({ ...formOf(plant), category: '' }, plant)).not.toHaveProperty('category');
    const nameless = { ...plant, category: { id: 9 } };
    expect(plantOfForm(formOf(nameless), nameless)).toMatchObject({ category: { id: 9 } });
  });

  it('lists the fields that differ', () => {
    expect(differences(formOf(plant), { ...formOf(plant), tags: [], name: 'Moss' })).toEqual(['name', 'tags']);
  });
});
