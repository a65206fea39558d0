import { describe, expect, it } from '@jest/globals';
import { createPlant, fresh, ok, type Plant, placeOrder, problem, send, staff } from './shop.js';

const get = (id: number) => send<Plant>('GET', `/v3/plant/${id}`);
const unknownId = 999_999_999_999;

describe('plants', () => {
  it('POST /plant returns the plant with an id and defaults for omitted members', async () => {
    const plant = await createPlant({
      name: 'Ficus lyrata',
      category: { id: 3, name: 'Trees' },
      photoUrls: ['https://example.org/ficus.jpg'],
      tags: [{ id: 9, name: 'indoor' }, { name: 'easy' }],
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
      updatedAt: expect.any(String),
    });
    expect(plant.id).toBeGreaterThanOrEqual(1_000_000_001);
    expect(await ok(get(plant.id))).toEqual(plant);
  });

  it('POST /plant refuses a member that plants do not have, and names the one that was meant', async () => {
    const { errors } = await problem(send('POST', '/v3/plant', { as: staff, json: { name: 'Ficus', photoUrls: [], quantitiy: 5 } }), 400, 'invalid-input');
    expect(errors).toEqual([{ pointer: '/quantitiy', detail: 'is not a member; did you mean `quantity`?' }]);
  });

  it('an id chosen by the client is used, refused while taken, and free again after the deletion', async () => {
    const id = 1 + Math.floor(Math.random() * 900_000_000);
    const create = () => send<Plant>('POST', '/v3/plant', { as: staff, json: { id, name: 'Aloe', photoUrls: [] } });
    expect((await ok(create())).id).toBe(id);
    await problem(create(), 409, 'plant-exists');
    await ok(send('DELETE', `/v3/plant/${id}`, { as: staff }));
    await problem(get(id), 404, 'plant-not-found');
    expect((await ok(create())).id).toBe(id);
    expect(await placeOrder({ plantId: id })).toMatchObject({ plantId: id, status: 'placed' });
  });

  it('PUT /plant replaces all attributes, but keeps an omitted status', async () => {
    const { id } = await createPlant({ status: 'pending', tags: [{ name: 'old' }], category: { name: 'Old' } });
    const put = (json: unknown) => send<Plant>('PUT', '/v3/plant', { as: staff, json });
    const replaced = await ok(put({ id, name: 'New name' }));
    expect(replaced).toEqual({ id, name: 'New name', photoUrls: [], tags: [], status: 'pending', updatedAt: expect.any(String) });
    expect(await ok(get(id))).toEqual(replaced);
    await problem(put({ id: unknownId, name: 'x' }), 404, 'plant-not-found');
    const { errors } = await problem(put({ name: 'x' }), 400, 'invalid-input');
    expect(errors?.map((one) => one.pointer)).toEqual(['/id']);
  });

  it('a plant has an external id and metadata, which PUT keeps and search finds', async () => {
    const own = { externalId: fresh('E'), metadata: { colour: fresh('red'), 'size, cm': '40' } };
    const { id } = await createPlant(own);
    const { detail } = await problem(send('POST', '/v3/plant', { as: staff, json: { name: 'Aloe', photoUrls: [], externalId: own.externalId } }), 409, 'external-id-exists');
    expect(detail).toContain(String(id));
    expect(await ok(send('PUT', '/v3/plant', { as: staff, json: { id, name: 'Aloe', photoUrls: [] } }))).toMatchObject({ name: 'Aloe', ...own });
    const found = (query: Record<string, string>) => ok(send<Plant[]>('GET', `/v3/plant/search?${new URLSearchParams(query).toString()}`));
    const both = { 'metadata[colour]': own.metadata.colour, 'metadata[size, cm]': '40' };
    for (const query of [{ externalId: own.externalId }, both]) expect(await found(query)).toMatchObject([{ id, ...own }]);
    expect(await found({ ...both, 'metadata[size, cm]': '41' })).toEqual([]);
    const bad = await problem(send('POST', '/v3/plant', { as: staff, json: { name: 'x', photoUrls: [], metadata: { a: 1 } } }), 400, 'invalid-input');
    expect(bad.errors?.map(({ pointer }) => pointer)).toEqual(['/metadata']);
  });

  it('PATCH /plant/{plantId} merges: absent members stay, null removes', async () => {
    const { id } = await createPlant({ category: { name: 'Trees' }, tags: [{ name: 'old' }], externalId: fresh('E'), metadata: { a: '1', b: '2' } });
    const path = `/v3/plant/${id}`;
    const patch = (json: unknown, headers = {}) => send<Plant>('PATCH', path, { as: staff, json, headers });
    const { headers } = await send('GET', path);
    const changed = await ok(patch({ name: 'Ficus', externalId: null, tags: null, metadata: { a: null, c: '3' } }, { 'if-match': headers.get('etag') ?? '' }));
    expect(changed).toEqual({ id, name: 'Ficus', category: { id: expect.any(Number), name: 'Trees' }, photoUrls: [], tags: [], status: 'available', metadata: { b: '2', c: '3' }, updatedAt: expect.any(String) });
    expect(await ok(get(id))).toEqual(changed);
    await problem(patch({ name: 'Late' }, { 'if-match': headers.get('etag') ?? '' }), 412, 'precondition-failed');
    expect((await problem(patch({ name: null }), 400, 'invalid-input')).errors?.map(({ pointer }) => pointer)).toEqual(['/name']);
    expect((await problem(patch({ nmae: 'x' }), 400, 'invalid-input')).errors).toEqual([{ pointer: '/nmae', detail: 'is not a member; did you mean `name`?' }]);
    const wrong = await send('PATCH', path, { as: staff, body: '{}', headers: { 'content-type': 'application/json' } });
    await problem(Promise.resolve(wrong), 415, 'unsupported-media-type');
    expect(wrong.headers.get('accept-patch')).toBe('application/merge-patch+json');
    await problem(send('PATCH', `/v3/plant/${unknownId}`, { as: staff, json: {} }), 404, 'plant-not-found');
  });

  it('GET /plant/changes follows the catalogue from a cursor, and waits for a change', async () => {
    interface Changes {
      readonly changes: readonly (Plant | { readonly id: number; readonly deleted: true })[];
      readonly cursor: string;
    }
    const read = (query: Record<string, string>) => ok(send<Changes>('GET', `/v3/plant/changes?${new URLSearchParams(query).toString()}`));
    const [kept, gone] = [await createPlant(), await createPlant()];
    const copy = new Map<number, Changes['changes'][number]>();
    let cursor: string | undefined;
    /** Reads to the end, into the copy. */
    const follow = async (): Promise<void> => {
      for (;;) {
        const page: Changes = await read(cursor === undefined ? {} : { cursor });
        ({ cursor } = page);
        for (const one of page.changes) copy.set(one.id, one);
        if (page.changes.length === 0) return;
      }
    };
    await follow();
    expect([copy.get(kept.id), copy.get(gone.id)]).toEqual([kept, gone]);
    await ok(send('PATCH', `/v3/plant/${kept.id}`, { as: staff, json: { name: 'Changed' } }));
    await ok(send('DELETE', `/v3/plant/${gone.id}`, { as: staff }));
    await follow();
    expect([copy.get(kept.id), copy.get(gone.id)]).toEqual([expect.objectContaining({ name: 'Changed' }), { id: gone.id, deleted: true }]);
    const begun = performance.now();
    const waiting = read({ cursor: cursor ?? '', wait: '30' });
    const added = await createPlant();
    const { changes } = await waiting;
    expect(performance.now() - begun).toBeLessThan(25_000);
    // Other tests change plants at the same time.
    if (!changes.some(({ id }) => id === added.id)) {
      await follow();
      expect(copy.get(added.id)).toEqual(added);
    }
    await problem(send('GET', '/v3/plant/changes?cursor=x'), 400, 'invalid-cursor');
    await problem(send('GET', '/v3/plant/changes?wait=31'), 400, 'invalid-input');
  });

  it('POST /plant/{plantId} accepts only a form with name, status or both', async () => {
    const { id } = await createPlant();
    const change = (form: Record<string, string>) => send<Plant>('POST', `/v3/plant/${id}`, { as: staff, form });
    expect(await ok(change({ status: 'sold' }))).toMatchObject({ name: 'Monstera', status: 'sold' });
    expect(await ok(change({ name: 'Renamed' }))).toMatchObject({ name: 'Renamed', status: 'sold' });
    await problem(change({}), 400, 'invalid-input');
    await problem(change({ status: 'gone' }), 400, 'invalid-input');
    await problem(send('POST', `/v3/plant/${id}`, { as: staff, json: { name: 'x' } }), 415, 'unsupported-media-type');
    await problem(send('POST', `/v3/plant/${unknownId}`, { as: staff, form: { name: 'x' } }), 404, 'plant-not-found');
  });

  it('GET /plant/findByStatus accepts a comma-separated list and repeated parameters', async () => {
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
    await problem(send('GET', '/v3/plant/findByStatus?status='), 400, 'invalid-input');
    const byDefault = await ok(send<Plant[]>('GET', '/v3/plant/findByStatus?limit=5'));
    expect(byDefault).toEqual(await ok(send<Plant[]>('GET', '/v3/plant/findByStatus?status=available&limit=5')));
  });

  it('GET /plant/findByTags finds plants with any of the tags, each once', async () => {
    const [one, two] = [fresh('tag'), fresh('tag')];
    const both = await createPlant({ tags: [{ name: one }, { name: two }] });
    const second = await createPlant({ tags: [{ name: two }] });
    const found = await ok(send<Plant[]>('GET', `/v3/plant/findByTags?tags=${one},${two}`));
    expect(found.map((plant) => plant.id)).toEqual([second.id, both.id]);
    expect(await ok(send<Plant[]>('GET', `/v3/plant/findByTags?tags=${fresh('none')}`))).toEqual([]);
    await problem(send('GET', '/v3/plant/findByTags'), 400, 'invalid-input');
  });

  it('GET /plant/search finds a new plant at once, by truncated or misspelled words, page by page', async () => {
    const word = `xylo${fresh('').replaceAll(/[^a-z]/g, '')}phyllum`;
    const tag = fresh('tag');
    const one = await createPlant({ name: `Big ${word}`, tags: [{ name: tag }], category: { name: 'Searched' } });
    const two = await createPlant({ name: `Small ${word}`, status: 'sold' });
    const find = async (query: string) => (await ok(send<Plant[]>('GET', `/v3/plant/search?${query}`))).map(({ id }) => id);
    expect(await find(`q=${word}`)).toEqual([two.id, one.id]);
    expect(await find(`q=${word}&sort=name`)).toEqual([one.id, two.id]);
    expect(await find(`q=big%20${word.slice(0, -4)}`)).toEqual([one.id]);
    expect(await find(`q=${word.replace('phyl', 'fyl')}%20small`)).toEqual([two.id]);
    expect(await find(`q=${word}&status=sold`)).toEqual([two.id]);
    expect(await find(`q=${word}&tags=${tag}&category=Searched`)).toEqual([one.id]);
    const first = await send<Plant[]>('GET', `/v3/plant/search?q=${word}&limit=1`);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    expect((await ok(send<Plant[]>('GET', new URL(next).pathname + new URL(next).search))).map(({ id }) => id)).toEqual([one.id]);
    const cursor = new URL(next).searchParams.get('cursor') ?? '';
    await problem(send('GET', `/v3/plant/search?q=${word}&sort=newest&cursor=${cursor}`), 400, 'invalid-cursor');
    await problem(send('GET', '/v3/plant/search?sort=price'), 400, 'invalid-input');
    expect(await ok(send('GET', `/v3/plant/facets?q=${word}`))).toEqual({
      plants: 2,
      complete: true,
      status: [
        { value: 'available', plants: 1 },
        { value: 'sold', plants: 1 },
      ],
      tags: [{ value: tag, plants: 1 }],
      category: [{ value: 'Searched', plants: 1 }],
    });
  });

  it('POST /plant/import imports valid lines, refuses invalid ones, has no effect when repeated, and accepts exports', async () => {
    const [one, two] = [await createPlant(), await createPlant()];
    await ok(send('DELETE', `/v3/plant/${two.id}`, { as: staff }));
    const tag = fresh('tag');
    const lines = [
      { id: one.id, name: 'Imported', tags: [{ name: tag }], status: 'sold' },
      { id: 'x', name: 'No number' },
      { id: two.id, name: 'Imported too', quantity: 3, photoUrls: ['https://photos.test/1'] },
    ];
    const sendLines = async (body: string, path = '/v3/plant/import'): Promise<unknown[]> => {
      const answer = await send<string>('POST', path, { as: staff, body, headers: { 'content-type': 'application/x-ndjson' } });
      return (await ok(Promise.resolve(answer))).trimEnd().split('\n').map((line) => JSON.parse(line) as unknown);
    };
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    const refused = { line: 2, result: 'refused', problem: expect.objectContaining({ code: 'invalid-input', status: 400, errors: [expect.objectContaining({ pointer: '/id' })] }) };
    expect(await sendLines(text, '/v3/plant/import/preview')).toEqual([
      { line: 1, id: one.id, result: 'updated', before: expect.objectContaining({ name: one.name }), after: expect.objectContaining({ name: 'Imported', status: 'sold', tags: [{ name: tag }] }) },
      refused,
      { line: 3, id: two.id, result: 'created', after: expect.objectContaining({ name: 'Imported too' }), free: { after: 3 } },
      { lines: 3, created: 1, updated: 1, unchanged: 0, refused: 1, complete: true },
    ]);
    expect(await sendLines(text)).toEqual([
      { line: 1, id: one.id, result: 'updated' },
      refused,
      { line: 3, id: two.id, result: 'created' },
      { lines: 3, created: 1, updated: 1, unchanged: 0, refused: 1, complete: true },
    ]);
    await placeOrder({ plantId: two.id, quantity: 3 });
    await problem(send('POST', '/v3/store/order', { as: staff, json: { plantId: two.id } }), 409, 'insufficient-stock');
    expect(await ok(send('GET', `/v3/plant/search?q=${tag}`))).toMatchObject([{ id: one.id, name: 'Imported', status: 'sold' }]);
    const exported = (await ok(send<string>('GET', '/v3/plant/export', { as: staff }))).trimEnd().split('\n');
    const own = exported.filter((line) => [one.id, two.id].includes((JSON.parse(line) as Plant).id));
    expect(own.map((line) => (JSON.parse(line) as Plant).name)).toEqual(['Imported', 'Imported too']);
    expect(await sendLines(`${own.join('\n')}\n{"id":`)).toEqual([
      { line: 1, id: one.id, result: 'unchanged' },
      { line: 2, id: two.id, result: 'unchanged' },
      expect.objectContaining({ lines: 2, unchanged: 2, complete: false, problem: expect.objectContaining({ code: 'malformed-request' }) }),
    ]);
    await problem(send('POST', '/v3/plant/import', { as: staff, json: {} }), 415, 'unsupported-media-type');
    await problem(send('POST', '/v3/plant/import', { body: text, headers: { 'content-type': 'application/x-ndjson' } }), 401, 'unauthorized');
    await problem(send('GET', '/v3/plant/export'), 401, 'unauthorized');
  });

  it('DELETE /plant/{plantId} is refused while orders are open and names them', async () => {
    const { id } = await createPlant({ quantity: 5 });
    const order = await placeOrder({ plantId: id });
    const refusal = await problem(send('DELETE', `/v3/plant/${id}`, { as: staff }), 409, 'plant-has-pending-orders');
    expect(refusal['orders']).toEqual([order.id]);
    expect(await ok(get(id))).toMatchObject({ id });
    await problem(send('DELETE', `/v3/plant/${unknownId}`, { as: staff }), 404, 'plant-not-found');
  });

  it('DELETE /plant/{plantId} returns an ApiResponse, and the plant can no longer be ordered', async () => {
    const { id } = await createPlant();
    const answer = await ok(send('DELETE', `/v3/plant/${id}`, { as: staff }));
    expect(answer).toEqual({ code: 200, type: 'SUCCESS', message: expect.any(String) });
    await problem(send('POST', '/v3/store/order', { as: staff, json: { plantId: id } }), 404, 'plant-not-found');
  });
});
