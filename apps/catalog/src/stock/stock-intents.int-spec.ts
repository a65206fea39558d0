import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog, type PlantStatus } from '@plant-shop/contracts/catalog';
import { createLogger } from '@plant-shop/platform/logging';
import { until } from '@plant-shop/testing/until';
import { CatalogHarness, outcomeOf } from '../catalog.harness.js';
import { fails, gate, losesItsAnswer } from '../store.fake.js';
import { goOnWithIntents } from './stock-intents.loop.js';
import { StockIntentsService } from './stock-intents.service.js';

/** Less than the catalog's own calls get: what does not come in this time is lost. */
const hurried = 400;

describe('the store learns what happens to plants', () => {
  let shop: CatalogHarness;
  let goOn: () => Promise<boolean>;
  let plantId = 0;
  beforeAll(async () => {
    shop = await CatalogHarness.start({ replicas: 2 });
    const logger = createLogger('test', 'fatal');
    const intents = new StockIntentsService(shop.database, shop.caller.client, logger);
    goOn = () => goOnWithIntents(shop.database, intents, logger);
  });
  afterAll(() => shop.stop());
  afterEach(async () => {
    await settled();
    expect(await shop.disagreements()).toEqual([]);
  });

  const nothingLeft = async () => (await shop.database.query('SELECT 1 FROM stock_intents')).length === 0;
  /** Like the loops of the replicas, but without their pauses. */
  const settled = () => until(async () => (await nothingLeft()) || (await goOn()) || nothingLeft(), 20_000);
  const newId = (): number => ++plantId;
  const shelf = (id: number) => shop.store.shelves.get(id);
  const create = (id: number, units?: number, budgetMs?: number) =>
    shop.caller.call(
      catalog.createPlant,
      { plant: { id, name: 'Ficus', ...(units !== undefined && { quantity: units }) } },
      undefined,
      budgetMs,
    );
  const change = (id: number, to: { status?: PlantStatus; name?: string }, budgetMs?: number) =>
    shop.caller.call(catalog.changePlant, { plantId: id, ...to }, undefined, budgetMs);
  const remove = (id: number, budgetMs?: number) => shop.caller.call(catalog.deletePlant, { plantId: id }, undefined, budgetMs);
  const get = (id: number) => shop.caller.call(catalog.getPlant, { plantId: id });
  const callsFor = (id: number): string[] =>
    shop.store.calls.filter((call) => call.endsWith(` ${id}`)).map((call) => call.split(' ')[0]!);

  const audited = (id: number) => shop.caller.call(catalog.readAudit, { operation: 'catalog.deletePlant' }).then((all) => all.filter(({ target }) => target === String(id)));

  describe('the audit log', () => {
    const clerk = { subject: '00000000-0000-4000-8000-00000000000c', permissions: ['write:plants'], shown: ['apiKey'] };

    it('names who asked for a plant to be deleted, also when the request is long gone by then', async () => {
      const id = newId();
      await create(id);
      shop.store.next('retirePlant', losesItsAnswer);
      expect(await outcomeOf(shop.caller.call(catalog.deletePlant, { plantId: id }, clerk, hurried))).toBe('outcome-unknown');
      await settled();
      expect(await audited(id)).toMatchObject([{ subject: clerk.subject, credentials: ['apiKey'], requestId: 'test' }]);
    });

    it('has nothing of a deletion that the store refused', async () => {
      const id = newId();
      await create(id);
      shop.store.next('retirePlant', () => ({ openOrders: [7] }));
      expect(await outcomeOf(shop.caller.call(catalog.deletePlant, { plantId: id }, clerk))).toBe('plant-has-pending-orders');
      expect(await audited(id)).toEqual([]);
    });
  });

  describe('creating', () => {
    it('is kept when the store fails, and its stock opens by itself', async () => {
      const id = newId();
      shop.store.next('openStock', fails);
      expect(await outcomeOf(create(id, 5))).toBe('outcome-unknown');
      expect(await get(id)).toMatchObject({ id });
      expect(await outcomeOf(create(id))).toBe('plant-exists');
      await settled();
      expect(shelf(id)).toMatchObject({ listing: 'available', units: 5 });
    });

    it('is told again when the answer was lost, and that changes nothing', async () => {
      const id = newId();
      shop.store.next('openStock', losesItsAnswer);
      expect(await outcomeOf(create(id, 5, hurried))).toBe('outcome-unknown');
      await settled();
      expect(callsFor(id)).toEqual(['openStock', 'openStock']);
      expect(shelf(id)).toMatchObject({ units: 5 });
    });

    it('waits for a store that is away, whose place nobody takes', async () => {
      const id = newId();
      await shop.store.stop();
      expect(await outcomeOf(create(id))).toBe('outcome-unknown');
      await shop.store.start();
      await settled();
      expect(shelf(id)).toMatchObject({ listing: 'available' });
    });

    it('that the store hears of only after the deletion opens nothing', async () => {
      const id = newId();
      const opening = gate();
      shop.store.next('openStock', opening.fate);
      const creating = create(id);
      await opening.arrived;
      await remove(id);
      opening.go();
      await creating;
      expect(shelf(id)).toMatchObject({ listing: 'retired' });
      expect(await outcomeOf(get(id))).toBe('plant-not-found');
    });

    it('again with the id of a deleted plant begins anew, and a late opening of the old plant does not disturb it', async () => {
      const id = newId();
      const opening = gate();
      shop.store.next('openStock', opening.fate);
      const creating = create(id, 1);
      await opening.arrived;
      await remove(id);
      await create(id, 2);
      opening.go();
      await creating;
      expect(shelf(id)).toMatchObject({ listing: 'available', units: 2 });
    });
  });

  describe('a status', () => {
    it('is known to the store before the client is answered, and a name is none of its business', async () => {
      const id = newId();
      await create(id);
      await change(id, { status: 'sold' });
      expect(shelf(id)).toMatchObject({ listing: 'sold' });
      await change(id, { name: 'Fig' });
      await change(id, { status: 'sold' });
      expect(callsFor(id)).toEqual(['openStock', 'listStock']);
    });

    it('is kept when the answer was lost, and told again', async () => {
      const id = newId();
      await create(id);
      shop.store.next('listStock', losesItsAnswer);
      expect(await outcomeOf(change(id, { status: 'pending' }, hurried))).toBe('outcome-unknown');
      expect(await get(id)).toMatchObject({ status: 'pending' });
      await settled();
      expect(callsFor(id)).toEqual(['openStock', 'listStock', 'listStock']);
    });

    it('that is still to be told is told with the next change, whatever that changes', async () => {
      const id = newId();
      await create(id);
      shop.store.next('listStock', fails);
      await outcomeOf(change(id, { status: 'pending' }));
      await change(id, { name: 'Fig' });
      expect(shelf(id)).toMatchObject({ listing: 'pending' });
    });

    it('that arrives late does not undo a newer one', async () => {
      const id = newId();
      await create(id);
      const listing = gate();
      shop.store.next('listStock', listing.fate);
      const first = change(id, { status: 'pending' });
      await listing.arrived;
      await change(id, { status: 'sold' });
      listing.go();
      await first;
      expect(shelf(id)).toMatchObject({ listing: 'sold' });
    });

    it('changed while the opening is under way is the one that counts, whichever arrives first', async () => {
      const id = newId();
      const opening = gate();
      shop.store.next('openStock', opening.fate);
      const creating = create(id, 7);
      await opening.arrived;
      await change(id, { status: 'sold' });
      opening.go();
      await creating;
      expect(shelf(id)).toMatchObject({ listing: 'sold', units: 7 });
    });

    it('changed after an opening whose answer was lost is the one that counts', async () => {
      const id = newId();
      shop.store.next('openStock', losesItsAnswer);
      const creating = outcomeOf(create(id, 7, hurried));
      await until(() => shelf(id) !== undefined);
      await change(id, { status: 'sold' });
      expect(shelf(id)).toMatchObject({ listing: 'sold', units: 7 });
      expect(await creating).toBe('outcome-unknown');
    });
  });

  describe('deleting', () => {
    it('is refused while there are open orders, which are named, and the plant stays as it is', async () => {
      const id = newId();
      await create(id);
      shop.store.openOrders.set(id, [7, 9]);
      await expect(remove(id)).rejects.toMatchObject({ code: 'plant-has-pending-orders', details: { orders: [7, 9] } });
      await change(id, { status: 'sold' });
      expect(shelf(id)).toMatchObject({ listing: 'sold' });
      shop.store.openOrders.delete(id);
      await remove(id);
      expect(await outcomeOf(get(id))).toBe('plant-not-found');
    });

    it('goes on by itself when the answer was lost', async () => {
      const id = newId();
      await create(id);
      shop.store.next('retirePlant', losesItsAnswer);
      expect(await outcomeOf(remove(id, hurried))).toBe('outcome-unknown');
      await settled();
      expect(await outcomeOf(get(id))).toBe('plant-not-found');
    });

    it('that goes on by itself and is refused leaves the plant and what else there is to tell', async () => {
      const id = newId();
      await create(id);
      shop.store.openOrders.set(id, [7]);
      shop.store.next('listStock', fails);
      for (let tries = 1; tries <= 3; tries++) shop.store.next('retirePlant', fails);
      await outcomeOf(change(id, { status: 'pending' }));
      expect(await outcomeOf(remove(id))).toBe('outcome-unknown');
      expect(callsFor(id).filter((call) => call === 'retirePlant')).toHaveLength(3);
      await settled();
      expect(await get(id)).toMatchObject({ status: 'pending' });
      expect(shelf(id)).toMatchObject({ listing: 'pending' });
    });

    it('that was given up does not happen later, when its orders are closed', async () => {
      const id = newId();
      await create(id);
      const retiring = gate();
      shop.store.next('retirePlant', retiring.fate);
      const removing = outcomeOf(remove(id, hurried));
      await retiring.arrived;
      shop.store.openOrders.set(id, [7]);
      expect(await removing).toBe('outcome-unknown');
      await settled();
      shop.store.openOrders.delete(id);
      retiring.go();
      await change(id, { status: 'pending' });
      expect(shelf(id)).toMatchObject({ listing: 'pending' });
    });

    it('twice at the same time succeeds once', async () => {
      const id = newId();
      await create(id);
      const [first, second] = [gate(), gate()];
      shop.store.next('retirePlant', first.fate);
      shop.store.next('retirePlant', second.fate);
      const removals = [outcomeOf(remove(id)), outcomeOf(remove(id))];
      await Promise.all([first.arrived, second.arrived]);
      first.go();
      second.go();
      expect(await Promise.all(removals)).toEqual(expect.arrayContaining([{ plantId: id }, 'plant-not-found']));
    });

    it('is tried anew when a later attempt was answered first, and then says what keeps it', async () => {
      const id = newId();
      await create(id);
      shop.store.openOrders.set(id, [7]);
      const early = gate();
      shop.store.next('retirePlant', early.fate);
      const first = remove(id);
      await early.arrived;
      expect(await outcomeOf(remove(id))).toBe('plant-has-pending-orders');
      early.go();
      await expect(first).rejects.toMatchObject({ code: 'plant-has-pending-orders', details: { orders: [7] } });
      expect(callsFor(id)).toEqual(['openStock', 'retirePlant', 'retirePlant', 'retirePlant']);
    });

    it('is not forgotten when another attempt was refused just before its orders were closed', async () => {
      const id = newId();
      await create(id);
      const early = gate();
      shop.store.next('retirePlant', early.fate);
      shop.store.openOrders.set(id, [7]);
      const refused = outcomeOf(remove(id));
      await early.arrived;
      const late = gate();
      shop.store.next('retirePlant', late.fate);
      const removing = outcomeOf(remove(id, hurried));
      await late.arrived;
      early.go();
      expect(await refused).toBe('plant-has-pending-orders');
      shop.store.openOrders.delete(id);
      expect(await removing).toBe('outcome-unknown');
      late.go();
      await settled();
      expect(await outcomeOf(get(id))).toBe('plant-not-found');
    });

    it('keeps its id taken until it is done', async () => {
      const id = newId();
      await create(id);
      const retiring = gate();
      shop.store.next('retirePlant', retiring.fate);
      const removing = remove(id);
      await retiring.arrived;
      expect(await outcomeOf(create(id))).toBe('plant-exists');
      retiring.go();
      await removing;
      await create(id);
      expect(shelf(id)).toMatchObject({ listing: 'available' });
    });

    it('takes a plant with it that is changed meanwhile', async () => {
      const id = newId();
      await create(id);
      const retiring = gate();
      shop.store.next('retirePlant', retiring.fate);
      const removing = remove(id);
      await retiring.arrived;
      expect(await change(id, { status: 'sold' })).toMatchObject({ status: 'sold' });
      retiring.go();
      await removing;
      expect(await outcomeOf(change(id, { status: 'pending' }))).toBe('plant-not-found');
      expect(shelf(id)).toMatchObject({ listing: 'retired' });
    });
  });

  it('two replicas share a backlog: each plant is told once', async () => {
    const ids = Array.from({ length: 600 }, newId);
    // As after a crash of everything between commit and call.
    await shop.database.query(
      `WITH made AS (
         INSERT INTO plants (id, incarnation, version, name, photo_urls, tags, status, bytes)
         SELECT id, drawn, drawn, 'left behind', '{}', '[]', 'available', 1
         FROM (SELECT id, nextval('plant_versions') AS drawn FROM unnest($1::bigint[]) AS id) AS t RETURNING incarnation
       )
       INSERT INTO stock_intents (incarnation, opens, next_try_at) SELECT incarnation, true, now() FROM made`,
      [ids],
    );
    await until(nothingLeft, 20_000);
    expect(ids.filter((id) => callsFor(id).length !== 1)).toEqual([]);
  });

  it('whatever comes at once and whatever fails, catalog and store agree in the end', async () => {
    const ids = Array.from({ length: 10 }, newId);
    const any = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
    const late = async (carryOut: () => unknown): Promise<unknown> => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
      return carryOut();
    };
    const operations = ['openStock', 'listStock', 'retirePlant'] as const;
    const history: unknown[] = [];
    const act = async (): Promise<void> => {
      const id = any(ids);
      if (Math.random() < 0.3) shop.store.next(any(operations), any([fails, losesItsAnswer, late, late]));
      shop.store.openOrders.set(id, Math.random() < 0.3 ? [1] : []);
      const work = any([
        () => create(id, undefined, hurried),
        () => change(id, { status: any(['available', 'pending', 'sold'] as const) }, hurried),
        () => remove(id, hurried),
      ]);
      const outcome = await outcomeOf(work());
      history.push([id, typeof outcome === 'string' ? outcome : 'ok']);
    };
    const worker = async (): Promise<void> => {
      for (let n = 0; n < 40; n++) await act();
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    shop.store.forgetFates();
    await settled();
    expect({ history, disagreements: await shop.disagreements() }).toEqual({ history, disagreements: [] });
    const outcomes = new Set(history.map((entry) => (entry as string[])[1]));
    expect(outcomes).toEqual(
      new Set(['ok', 'plant-exists', 'plant-not-found', 'plant-has-pending-orders', 'outcome-unknown']),
    );
  }, 60_000);
});
