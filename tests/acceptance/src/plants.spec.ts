import { describe, expect, it } from '@jest/globals';
import { createPlant, fresh, ok, type Plant, placeOrder, problem, send, staff } from './shop.js';

const get = (id: number) => send<Plant>('GET', `/v3/plant/${id}`);
const nowhere = 999_999_999_999;

describe('plants', () => {
  it('POST /plant answers the plant with an id, a status and what was left out filled in', async () => {
    const plant = await createPlant({
      name: 'Ficus lyrata',
      category: { id: 3, name: 'Trees' },
      photoUrls: ['https://example.org/ficus.jpg'],
      tags: [{ id: 9, name: 'indoor' }, { name: 'easy' }],
      unknown: 'ignored',
    });
    expect(plant).toEqual({
      id: expect.any(Number),
      name: 'Ficus lyrata',
      category: { id: 3, name: 'Trees' },
      photoUrls: ['https://example.org/ficus.jpg'],
      tags: [
        { id: 9, name: 'indoor' },
        { id: expect.any(Number), name: 'easy' },
      ],
      status: 'available',
    });
    expect(plant.id).toBeGreaterThanOrEqual(1_000_000_001);
    expect(await ok(get(plant.id))).toEqual(plant);
  });

  it('an id that a client chooses is kept, refused while taken, and free again after the deletion', async () => {
    const id = 1 + Math.floor(Math.random() * 900_000_000);
    const create = () => send<Plant>('POST', '/v3/plant', { as: staff, json: { id, name: 'Aloe', photoUrls: [] } });
    expect((await ok(create())).id).toBe(id);
    await problem(create(), 409, 'plant-exists');
    await ok(send('DELETE', `/v3/plant/${id}`, { as: staff }));
    await problem(get(id), 404, 'plant-not-found');
    expect((await ok(create())).id).toBe(id);
    expect(await placeOrder({ plantId: id })).toMatchObject({ plantId: id, status: 'placed' });
  });

  it('PUT /plant replaces all attributes and keeps a status that is not given', async () => {
    const { id } = await createPlant({ status: 'pending', tags: [{ name: 'old' }], category: { name: 'Old' } });
    const put = (json: unknown) => send<Plant>('PUT', '/v3/plant', { as: staff, json });
    const replaced = await ok(put({ id, name: 'New name' }));
    expect(replaced).toEqual({ id, name: 'New name', photoUrls: [], tags: [], status: 'pending' });
    expect(await ok(get(id))).toEqual(replaced);
    await problem(put({ id: nowhere, name: 'x' }), 404, 'plant-not-found');
    const { errors } = await problem(put({ name: 'x' }), 400, 'invalid-input');
    expect(errors?.map((one) => one.pointer)).toEqual(['/id']);
  });

  it('POST /plant/{plantId} takes a form with name, status or both, and nothing else', async () => {
    const { id } = await createPlant();
    const change = (form: Record<string, string>) => send<Plant>('POST', `/v3/plant/${id}`, { as: staff, form });
    expect(await ok(change({ status: 'sold' }))).toMatchObject({ name: 'Monstera', status: 'sold' });
    expect(await ok(change({ name: 'Renamed' }))).toMatchObject({ name: 'Renamed', status: 'sold' });
    await problem(change({}), 400, 'invalid-input');
    await problem(change({ status: 'gone' }), 400, 'invalid-input');
    await problem(send('POST', `/v3/plant/${id}`, { as: staff, json: { name: 'x' } }), 415, 'unsupported-media-type');
    await problem(send('POST', `/v3/plant/${nowhere}`, { as: staff, form: { name: 'x' } }), 404, 'plant-not-found');
  });

  it('GET /plant/findByStatus finds by a comma list and by repeated parameters', async () => {
    const sold = await createPlant({ status: 'sold' });
    const pending = await createPlant({ status: 'pending' });
    const find = async (query: string) =>
      (await ok(send<Plant[]>('GET', `/v3/plant/findByStatus?${query}`))).map((plant) => plant.id);
    expect(await find('status=sold')).toContain(sold.id);
    expect(await find('status=sold')).not.toContain(pending.id);
    for (const both of ['status=sold,pending', 'status=sold&status=pending']) {
      expect(await find(both)).toEqual(expect.arrayContaining([sold.id, pending.id]));
    }
    const refusal = await problem(send('GET', '/v3/plant/findByStatus?status=gone'), 400, 'invalid-input');
    expect(JSON.stringify(refusal)).toMatch(/available.*pending.*sold/);
    await problem(send('GET', '/v3/plant/findByStatus'), 400, 'invalid-input');
  });

  it('GET /plant/findByTags finds plants with any of the names, each once', async () => {
    const [one, two] = [fresh('tag'), fresh('tag')];
    const both = await createPlant({ tags: [{ name: one }, { name: two }] });
    const second = await createPlant({ tags: [{ name: two }] });
    const found = await ok(send<Plant[]>('GET', `/v3/plant/findByTags?tags=${one},${two}`));
    expect(found.map((plant) => plant.id)).toEqual([second.id, both.id]);
    expect(await ok(send<Plant[]>('GET', `/v3/plant/findByTags?tags=${fresh('none')}`))).toEqual([]);
    await problem(send('GET', '/v3/plant/findByTags'), 400, 'invalid-input');
  });

  it('DELETE /plant/{plantId} is refused while orders are open and names them', async () => {
    const { id } = await createPlant({ quantity: 5 });
    const order = await placeOrder({ plantId: id });
    const refusal = await problem(send('DELETE', `/v3/plant/${id}`, { as: staff }), 409, 'plant-has-pending-orders');
    expect(refusal['orders']).toEqual([order.id]);
    expect(await ok(get(id))).toMatchObject({ id });
    await problem(send('DELETE', `/v3/plant/${nowhere}`, { as: staff }), 404, 'plant-not-found');
  });

  it('DELETE /plant/{plantId} answers an ApiResponse, and the plant can no longer be ordered', async () => {
    const { id } = await createPlant();
    const answer = await ok(send('DELETE', `/v3/plant/${id}`, { as: staff }));
    expect(answer).toEqual({ code: 200, type: 'SUCCESS', message: expect.any(String) });
    await problem(send('POST', '/v3/store/order', { as: staff, json: { plantId: id } }), 404, 'plant-not-found');
  });
});
