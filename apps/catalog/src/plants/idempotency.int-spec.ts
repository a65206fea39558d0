import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog, type ChangePlant, type NewPlant, type Plant } from '@plant-shop/contracts/catalog';
import { CodedError } from '@plant-shop/platform/errors';
import { until } from '@plant-shop/testing/until';
import { CatalogFixture, type Keyed, kill, outcomeOf } from '../catalog.spec.fixture.js';
import { fail, gate, loseAnswer } from '../store.fake.js';

/** Call budget in milliseconds, shorter than that of the catalog's own calls: a lost answer exceeds it. */
const shortBudgetMs = 400;

describe('a plant that is written with an Idempotency-Key', () => {
  let shop: CatalogFixture;
  let lastId = 0;
  beforeAll(async () => {
    shop = await CatalogFixture.start({ replicas: 2 });
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
  /** Repeats a request as its errors ask, since so many at once may exceed the limits of a slow machine. `wasUnknown`: an attempt may have been the first. */
  const repeatedWhileBusy = async <T>(send: () => Promise<T>): Promise<T & { readonly wasUnknown: boolean }> => {
    for (let wasUnknown = false; ; ) {
      try {
        return { ...(await send()), wasUnknown };
      } catch (error) {
        if (!(error instanceof CodedError) || !['unavailable', 'outcome-unknown'].includes(error.code)) throw error;
        wasUnknown ||= error.code === 'outcome-unknown';
      }
    }
  };
  const named = (name: string) => shop.database.query<{ id: number }>('SELECT id FROM plants WHERE name = $1', [name]);

  it('is created once, and every repetition gets the first answer, even after the plant was changed or deleted', async () => {
    const name = newName();
    const first = await create('once', { name });
    expect(first).toMatchObject({ replayed: false, version: expect.any(Number) });
    await shop.caller.call(catalog.replacePlant, { plant: { id: first.answer.id, name: `${name}, renamed` } });
    expect(await create('once', { name })).toEqual({ ...first, replayed: true });
    await shop.caller.call(catalog.deletePlant, { plantId: first.answer.id });
    expect(await create('once', { name })).toEqual({ ...first, replayed: true });
    expect(await named(name)).toEqual([]);
  });

  it('concurrent duplicates on two replicas create one plant with open stock (slow)', async () => {
    const names = Array.from({ length: 20 }, newName);
    const answers = await Promise.all(
      names.flatMap((name) =>
        Array.from({ length: 10 }, async () => {
          const one = await repeatedWhileBusy(() => create(name, { name, quantity: 3 }));
          return { name, ...one, units: shop.store.stock.get(one.answer.id)?.units };
        }),
      ),
    );
    for (const name of names) {
      const twins = answers.filter((one) => one.name === name);
      expect(new Set(twins.map((one) => `${one.answer.id} ${one.version}`)).size).toBe(1);
      const [{ answer }] = twins as [(typeof twins)[0]];
      // The first answer, unless that was lost and its request repeated.
      const firsts = twins.filter((one) => !one.replayed).length;
      expect(firsts).toBe(firsts === 0 && twins.some(({ wasUnknown }) => wasUnknown) ? 0 : 1);
      expect(await shop.database.query(`SELECT FROM audit_log WHERE operation = 'catalog.createPlant' AND target = $1`, [String(answer.id)])).toHaveLength(1);
      expect(await named(name)).toEqual([{ id: answer.id }]);
    }
    expect(new Set(answers.map(({ units }) => units))).toEqual(new Set([3]));
  });

  it('is changed once: a repeated form does not undo later changes', async () => {
    const { id } = await shop.create();
    const first = await change('form', { plantId: id, status: 'sold' });
    await shop.caller.call(catalog.changePlant, { plantId: id, status: 'pending' });
    expect(await change('form', { plantId: id, status: 'sold' })).toEqual({ ...first, replayed: true });
    expect(await shop.caller.call(catalog.getPlant, { plantId: id })).toMatchObject({ status: 'pending' });
  });

  it('is replayed even if the plant is no longer at the expected version', async () => {
    const { id } = await shop.create();
    const ifVersion = (await shop.raw(catalog.getPlant, { plantId: id })).version!;
    const first = await change('expected', { plantId: id, name: 'Fig', ifVersion });
    expect(await change('expected', { plantId: id, name: 'Fig', ifVersion })).toEqual({ ...first, replayed: true });
  });

  it('is independent of other principals, and refused for another request', async () => {
    const name = newName();
    const [mine, theirs] = [await create('shared', { name }), await create('shared', { name }, { user: 'user-2' })];
    expect(theirs).toMatchObject({ replayed: false });
    expect(theirs.answer.id).not.toBe(mine.answer.id);
    expect(await outcomeOf(create('shared', { name, status: 'sold' }))).toBe('idempotency-key-reused');
    expect(await outcomeOf(change('shared', { plantId: mine.answer.id, name }))).toBe('idempotency-key-reused');
  });

  it('is evaluated again after a refusal', async () => {
    const { id } = await shop.create();
    expect(await outcomeOf(create('refused', { id, name: 'taken' }))).toBe('plant-exists');
    await shop.caller.call(catalog.deletePlant, { plantId: id });
    expect(await create('refused', { id, name: 'taken' })).toMatchObject({ answer: { id }, replayed: false });
    expect(await outcomeOf(change('early', { plantId: 77, name: 'x' }))).toBe('plant-not-found');
    await shop.create({ id: 77 });
    expect(await change('early', { plantId: 77, name: 'x' })).toMatchObject({ replayed: false });
  });

  it('stores nothing from which key, request or answer could be read', async () => {
    await create('a-very-secret-key', { name: 'a very rare plant' });
    const rows = await shop.database.query<{ row: string }>('SELECT row_to_json(k)::text AS row FROM idempotency_keys k');
    const all = rows.map(({ row }) => row + Buffer.from(row.replaceAll(/[^0-9a-f]/g, ''), 'hex').toString('latin1')).join();
    expect(all).not.toMatch(/secret|rare|photoUrls/);
  });

  describe('while the store has not acknowledged it', () => {
    it('is passed on to the store by the repetition, before its answer', async () => {
      const name = newName();
      shop.store.interceptNext('openStock', fail);
      expect(await outcomeOf(create('unacknowledged', { name, quantity: 4 }))).toBe('outcome-unknown');
      const { answer, replayed } = await create('unacknowledged', { name, quantity: 4 });
      expect({ replayed, units: shop.store.stock.get(answer.id)?.units }).toEqual({ replayed: true, units: 4 });
    });

    it('stays outcome-unknown while the store is unavailable, and is answered when it is back', async () => {
      const name = newName();
      await shop.store.stop();
      for (let times = 1; times <= 2; times++) expect(await outcomeOf(create('away', { name }))).toBe('outcome-unknown');
      const [{ id } = { id: 0 }] = await named(name);
      const sell = () => change('also away', { plantId: id, status: 'sold' });
      for (let times = 1; times <= 2; times++) expect(await outcomeOf(sell())).toBe('outcome-unknown');
      await shop.store.start();
      expect(await sell()).toMatchObject({ answer: { status: 'sold' }, replayed: true });
      expect(shop.store.stock.get(id)).toMatchObject({ listing: 'sold' });
      expect(await create('away', { name })).toMatchObject({ answer: { id, status: 'available' }, replayed: true });
      expect(await named(name)).toEqual([{ id }]);
    });

    it('does not wait for the intent of a later plant with its id', async () => {
      const id = 88;
      const first = await create('former', { id, name: 'first' });
      await shop.caller.call(catalog.deletePlant, { plantId: id });
      const opening = gate();
      shop.store.interceptNext('openStock', opening.interceptor);
      const second = create('latter', { id, name: 'second' });
      await opening.arrived;
      shop.store.interceptNext('openStock', loseAnswer);
      expect(await create('former', { id, name: 'first' }, { budgetMs: shortBudgetMs })).toEqual({ ...first, replayed: true });
      shop.store.clearInterceptors();
      opening.release();
      expect(await second).toMatchObject({ answer: { id, name: 'second' } });
    });
  });
});

describe('a replica that is killed between its commit and its call to the store', () => {
  let shop: CatalogFixture;
  let lost: Promise<unknown>;
  beforeAll(async () => {
    shop = await CatalogFixture.start({ replicas: 0 });
  });
  afterAll(async () => {
    await shop.stop();
    expect(await lost).toBe('outcome-unknown');
  });

  it('leaves one plant, and another replica answers the repetition once its stock is open (slow)', async () => {
    const victim = await shop.startProcess();
    const opening = gate();
    shop.store.interceptNext('openStock', opening.interceptor);
    const phoenix = { name: 'Phoenix', quantity: 9 };
    const create = () => shop.keyed(catalog.createPlant, { plant: phoenix }, { key: 'phoenix' });
    lost = outcomeOf(create());
    await opening.arrived;
    await kill(victim);
    await shop.startReplica();
    const { answer, replayed } = await create();
    expect(replayed).toBe(true);
    // No loop has called the store: the lease lasts until the first caller stops waiting.
    expect(shop.store.calls).toEqual([`openStock ${answer.id}`, `openStock ${answer.id}`]);
    expect(shop.store.stock.get(answer.id)).toMatchObject({ listing: 'available', units: 9 });
    // The dead replica's call arrives late.
    opening.release();
    expect(await create()).toMatchObject({ answer, replayed: true });
    expect(await shop.database.query('SELECT id FROM plants')).toEqual([{ id: answer.id }]);
    expect(await shop.disagreements()).toEqual([]);
  });
});
