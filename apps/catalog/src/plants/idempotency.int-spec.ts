import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog, type ChangePlant, type NewPlant, type Plant } from '@plant-shop/contracts/catalog';
import { until } from '@plant-shop/testing/until';
import { CatalogHarness, type Keyed, kill, outcomeOf } from '../catalog.spec.fixture.js';
import { fails, gate, losesItsAnswer } from '../store.fake.js';

/** Less than the catalog's own calls get: what does not come in this time is lost. */
const hurried = 400;

describe('a plant that is written with an Idempotency-Key', () => {
  let shop: CatalogHarness;
  let lastId = 0;
  beforeAll(async () => {
    shop = await CatalogHarness.start({ replicas: 2 });
  });
  afterAll(() => shop.stop());
  afterEach(async () => {
    await until(async () => (await shop.database.query('SELECT 1 FROM stock_intents')).length === 0);
    expect(await shop.disagreements()).toEqual([]);
  });

  const newName = (): string => `plant ${++lastId}`;
  const create = (
    key: string,
    plant: NewPlant,
    options: { user?: string; budgetMs?: number } = {},
  ): Promise<Keyed<Plant>> => shop.keyed(catalog.createPlant, { plant }, { key, ...options });
  const change = (key: string, to: ChangePlant): Promise<Keyed<Plant>> => shop.keyed(catalog.changePlant, to, { key });
  const named = (name: string) => shop.database.query<{ id: number }>('SELECT id FROM plants WHERE name = $1', [name]);

  it('is created once, and every repetition gets the first answer, whatever became of it', async () => {
    const name = newName();
    const first = await create('once', { name });
    expect(first).toMatchObject({ replayed: false, version: expect.any(Number) });
    await shop.caller.call(catalog.replacePlant, { plant: { id: first.answer.id, name: `${name}, renamed` } });
    expect(await create('once', { name })).toEqual({ ...first, replayed: true });
    await shop.caller.call(catalog.deletePlant, { plantId: first.answer.id });
    expect(await create('once', { name })).toEqual({ ...first, replayed: true });
    expect(await named(name)).toEqual([]);
  });

  it('twins at the same time, in two replicas, are one plant with its stock open', async () => {
    const names = Array.from({ length: 20 }, newName);
    const answers = await Promise.all(
      names.flatMap((name) =>
        Array.from({ length: 10 }, async () => {
          const one = await create(name, { name, quantity: 3 });
          return { name, ...one, units: shop.store.shelves.get(one.answer.id)?.units };
        }),
      ),
    );
    for (const name of names) {
      const twins = answers.filter((one) => one.name === name);
      expect(new Set(twins.map((one) => `${one.answer.id} ${one.version}`)).size).toBe(1);
      expect(twins.filter((one) => !one.replayed)).toHaveLength(1);
      expect(await named(name)).toEqual([{ id: twins[0]!.answer.id }]);
    }
    expect(new Set(answers.map(({ units }) => units))).toEqual(new Set([3]));
  });

  it('is changed once: a repeated form does not undo what came after it', async () => {
    const { id } = await shop.create();
    const first = await change('form', { plantId: id, status: 'sold' });
    await shop.caller.call(catalog.changePlant, { plantId: id, status: 'pending' });
    expect(await change('form', { plantId: id, status: 'sold' })).toEqual({ ...first, replayed: true });
    expect(await shop.caller.call(catalog.getPlant, { plantId: id })).toMatchObject({ status: 'pending' });
  });

  it('is repeated also where the version that it expected is no more', async () => {
    const { id } = await shop.create();
    const ifVersion = (await shop.raw(catalog.getPlant, { plantId: id })).version!;
    const first = await change('expected', { plantId: id, name: 'Fig', ifVersion });
    expect(await change('expected', { plantId: id, name: 'Fig', ifVersion })).toEqual({ ...first, replayed: true });
  });

  it('is another matter for another principal, and refused for another request', async () => {
    const name = newName();
    const [mine, theirs] = [await create('shared', { name }), await create('shared', { name }, { user: 'user-2' })];
    expect(theirs).toMatchObject({ replayed: false });
    expect(theirs.answer.id).not.toBe(mine.answer.id);
    expect(await outcomeOf(create('shared', { name, status: 'sold' }))).toBe('idempotency-key-reused');
    expect(await outcomeOf(change('shared', { plantId: mine.answer.id, name }))).toBe('idempotency-key-reused');
  });

  it('is judged anew when it was refused', async () => {
    const { id } = await shop.create();
    expect(await outcomeOf(create('refused', { id, name: 'taken' }))).toBe('plant-exists');
    await shop.caller.call(catalog.deletePlant, { plantId: id });
    expect(await create('refused', { id, name: 'taken' })).toMatchObject({ answer: { id }, replayed: false });
    expect(await outcomeOf(change('early', { plantId: 77, name: 'x' }))).toBe('plant-not-found');
    await shop.create({ id: 77 });
    expect(await change('early', { plantId: 77, name: 'x' })).toMatchObject({ replayed: false });
  });

  it('leaves nothing at rest from which key, request or answer could be read', async () => {
    await create('a-very-secret-key', { name: 'a very rare plant' });
    const rows = await shop.database.query<{ row: string }>('SELECT row_to_json(k)::text AS row FROM idempotency_keys k');
    const all = rows.map(({ row }) => row + Buffer.from(row.replaceAll(/[^0-9a-f]/g, ''), 'hex').toString('latin1')).join();
    expect(all).not.toMatch(/secret|rare|photoUrls/);
  });

  describe('of which the store did not learn', () => {
    it('is told by the repetition, before that is answered', async () => {
      const name = newName();
      shop.store.next('openStock', fails);
      expect(await outcomeOf(create('told', { name, quantity: 4 }))).toBe('outcome-unknown');
      const { answer, replayed } = await create('told', { name, quantity: 4 });
      expect({ replayed, units: shop.store.shelves.get(answer.id)?.units }).toEqual({ replayed: true, units: 4 });
    });

    it('stays unknown while the store is away, and is answered when it is back', async () => {
      const name = newName();
      await shop.store.stop();
      for (let times = 1; times <= 2; times++) expect(await outcomeOf(create('away', { name }))).toBe('outcome-unknown');
      const [{ id } = { id: 0 }] = await named(name);
      const sell = () => change('also away', { plantId: id, status: 'sold' });
      for (let times = 1; times <= 2; times++) expect(await outcomeOf(sell())).toBe('outcome-unknown');
      await shop.store.start();
      expect(await sell()).toMatchObject({ answer: { status: 'sold' }, replayed: true });
      expect(shop.store.shelves.get(id)).toMatchObject({ listing: 'sold' });
      expect(await create('away', { name })).toMatchObject({ answer: { id, status: 'available' }, replayed: true });
      expect(await named(name)).toEqual([{ id }]);
    });

    it('is not held up by a later plant with its id', async () => {
      const id = 88;
      const first = await create('former', { id, name: 'first' });
      await shop.caller.call(catalog.deletePlant, { plantId: id });
      const opening = gate();
      shop.store.next('openStock', opening.fate);
      const second = create('latter', { id, name: 'second' });
      await opening.arrived;
      shop.store.next('openStock', losesItsAnswer);
      expect(await create('former', { id, name: 'first' }, { budgetMs: hurried })).toEqual({ ...first, replayed: true });
      shop.store.forgetFates();
      opening.go();
      expect(await second).toMatchObject({ answer: { id, name: 'second' } });
    });
  });
});

describe('a replica that is killed between its commit and the call of the store', () => {
  let shop: CatalogHarness;
  let lost: Promise<unknown>;
  beforeAll(async () => {
    shop = await CatalogHarness.start({ replicas: 0 });
  });
  afterAll(async () => {
    await shop.stop();
    expect(await lost).toBe('outcome-unknown');
  });

  it('leaves one plant, and the repetition learns of it from another replica, with its stock open', async () => {
    const victim = await shop.startProcess();
    const opening = gate();
    shop.store.next('openStock', opening.fate);
    const phoenix = { name: 'Phoenix', quantity: 9 };
    const create = () => shop.keyed(catalog.createPlant, { plant: phoenix }, { key: 'phoenix' });
    lost = outcomeOf(create());
    await opening.arrived;
    await kill(victim);
    await shop.startReplica();
    const { answer, replayed } = await create();
    expect(replayed).toBe(true);
    // Nobody else has told the store: the plant is left alone until nobody waits for the first answer any more.
    expect(shop.store.calls).toEqual([`openStock ${answer.id}`, `openStock ${answer.id}`]);
    expect(shop.store.shelves.get(answer.id)).toMatchObject({ listing: 'available', units: 9 });
    // What the dead one asked arrives after all.
    opening.go();
    expect(await create()).toMatchObject({ answer, replayed: true });
    expect(await shop.database.query('SELECT id FROM plants')).toEqual([{ id: answer.id }]);
    expect(await shop.disagreements()).toEqual([]);
  });
});
