import { describe, expect, it } from '@jest/globals';
import type { Plant } from './plant-filter.js';
import { differences, formOf, plantOfForm } from './plant-form-values.js';

const plant: Plant = { id: 7, name: 'Fern', category: { id: 3, name: 'Foliage' }, photoUrls: [], tags: [{ id: 1, name: 'shade' }], status: 'sold' };

describe('a form of a plant', () => {
  it('keeps the ids of what was not changed', () => {
    expect(plantOfForm(formOf(plant), plant)).toEqual({ name: 'Fern', category: { id: 3, name: 'Foliage' }, tags: [{ id: 1, name: 'shade' }], status: 'sold' });
    expect(plantOfForm({ ...formOf(plant), category: ' Trees ', tags: ['wet', 'shade'] }, plant)).toMatchObject({ category: { name: 'Trees' }, tags: [{ name: 'wet' }, { id: 1, name: 'shade' }] });
  });

  it('has no category when it is empty, unless the category has no name', () => {
    expect(plantOfForm({ ...formOf(plant), category: '' }, plant)).not.toHaveProperty('category');
    const nameless = { ...plant, category: { id: 9 } };
    expect(plantOfForm(formOf(nameless), nameless)).toMatchObject({ category: { id: 9 } });
  });

  it('tells in which fields two differ', () => {
    expect(differences(formOf(plant), { ...formOf(plant), tags: [], name: 'Moss' })).toEqual(['name', 'tags']);
  });
});
