import { describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { outcomeOf } from '../catalog.spec.fixture.js';
import { fails, gate, losesItsAnswer } from '../store.fake.js';
import { hurried, ToldPlants } from './told-plants.spec.fixture.js';

describe('the store learns what happens to plants', () => {
  const plants = ToldPlants.ofEachTest();

  describe('creating', () => {
    it('is kept when the store fails, and its stock opens by itself', async () => {
      const id = plants.newId();
      plants.shop.store.next('openStock', fails);
      expect(await outcomeOf(plants.create(id, 5))).toBe('outcome-unknown');
      expect(await plants.get(id)).toMatchObject({ id });
      expect(await outcomeOf(plants.create(id))).toBe('plant-exists');
      await plants.settled();
      expect(plants.shelf(id)).toMatchObject({ listing: 'available', units: 5 });
    });

    it('is told again when the answer was lost, and that changes nothing', async () => {
      const id = plants.newId();
      plants.shop.store.next('openStock', losesItsAnswer);
      expect(await outcomeOf(plants.create(id, 5, hurried))).toBe('outcome-unknown');
      await plants.settled();
      expect(plants.callsFor(id)).toEqual(['openStock', 'openStock']);
      expect(plants.shelf(id)).toMatchObject({ units: 5 });
    });

    it('waits for a store that is away, whose place nobody takes', async () => {
      const id = plants.newId();
      await plants.shop.store.stop();
      expect(await outcomeOf(plants.create(id))).toBe('outcome-unknown');
      await plants.shop.store.start();
      await plants.settled();
      expect(plants.shelf(id)).toMatchObject({ listing: 'available' });
    });

    it('that the store hears of only after the deletion opens nothing', async () => {
      const id = plants.newId();
      const opening = gate();
      plants.shop.store.next('openStock', opening.fate);
      const creating = plants.create(id);
      await opening.arrived;
      await plants.remove(id);
      opening.go();
      await creating;
      expect(plants.shelf(id)).toMatchObject({ listing: 'retired' });
      expect(await outcomeOf(plants.get(id))).toBe('plant-not-found');
    });

    it('again with the id of a deleted plant begins anew, and a late opening of the old plant does not disturb it', async () => {
      const id = plants.newId();
      const opening = gate();
      plants.shop.store.next('openStock', opening.fate);
      const creating = plants.create(id, 1);
      await opening.arrived;
      await plants.remove(id);
      await plants.create(id, 2);
      opening.go();
      await creating;
      expect(plants.shelf(id)).toMatchObject({ listing: 'available', units: 2 });
    });
  });

  describe('a status', () => {
    it('is known to the store before the client is answered, and a name is none of its business', async () => {
      const id = plants.newId();
      await plants.create(id);
      await plants.change(id, { status: 'sold' });
      expect(plants.shelf(id)).toMatchObject({ listing: 'sold' });
      await plants.change(id, { name: 'Fig' });
      await plants.change(id, { status: 'sold' });
      expect(plants.callsFor(id)).toEqual(['openStock', 'listStock']);
    });

    it('is kept when the answer was lost, and told again', async () => {
      const id = plants.newId();
      await plants.create(id);
      plants.shop.store.next('listStock', losesItsAnswer);
      expect(await outcomeOf(plants.change(id, { status: 'pending' }, hurried))).toBe('outcome-unknown');
      expect(await plants.get(id)).toMatchObject({ status: 'pending' });
      await plants.settled();
      expect(plants.callsFor(id)).toEqual(['openStock', 'listStock', 'listStock']);
    });

    it('that is still to be told is told with the next change, whatever that changes', async () => {
      const id = plants.newId();
      await plants.create(id);
      plants.shop.store.next('listStock', fails);
      await outcomeOf(plants.change(id, { status: 'pending' }));
      await plants.change(id, { name: 'Fig' });
      expect(plants.shelf(id)).toMatchObject({ listing: 'pending' });
    });

    it('that arrives late does not undo a newer one', async () => {
      const id = plants.newId();
      await plants.create(id);
      const listing = gate();
      plants.shop.store.next('listStock', listing.fate);
      const first = plants.change(id, { status: 'pending' });
      await listing.arrived;
      await plants.change(id, { status: 'sold' });
      listing.go();
      await first;
      expect(plants.shelf(id)).toMatchObject({ listing: 'sold' });
    });

    it('changed while the opening is under way is the one that counts, whichever arrives first', async () => {
      const id = plants.newId();
      const opening = gate();
      plants.shop.store.next('openStock', opening.fate);
      const creating = plants.create(id, 7);
      await opening.arrived;
      await plants.change(id, { status: 'sold' });
      opening.go();
      await creating;
      expect(plants.shelf(id)).toMatchObject({ listing: 'sold', units: 7 });
    });

    it('changed after an opening whose answer was lost is the one that counts', async () => {
      const id = plants.newId();
      plants.shop.store.next('openStock', losesItsAnswer);
      const creating = outcomeOf(plants.create(id, 7, hurried));
      await until(() => plants.shelf(id) !== undefined);
      await plants.change(id, { status: 'sold' });
      expect(plants.shelf(id)).toMatchObject({ listing: 'sold', units: 7 });
      expect(await creating).toBe('outcome-unknown');
    });
  });

  it('two replicas share a backlog: each plant is told once', async () => {
    const ids = Array.from({ length: 600 }, () => plants.newId());
    // As after a crash of everything between commit and call.
    await plants.shop.database.query(
      `WITH made AS (
         INSERT INTO plants (id, incarnation, version, name, photo_urls, tags, status, bytes)
         SELECT id, drawn, drawn, 'left behind', '{}', '[]', 'available', 1
         FROM (SELECT id, nextval('plant_versions') AS drawn FROM unnest($1::bigint[]) AS id) AS t RETURNING incarnation
       )
       INSERT INTO stock_intents (incarnation, opens, next_try_at) SELECT incarnation, true, now() FROM made`,
      [ids],
    );
    await until(() => plants.nothingLeft(), 20_000);
    expect(ids.filter((id) => plants.callsFor(id).length !== 1)).toEqual([]);
  });

  it('whatever comes at once and whatever fails, catalog and store agree in the end', async () => {
    const ids = Array.from({ length: 10 }, () => plants.newId());
    const any = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
    const late = async (carryOut: () => unknown): Promise<unknown> => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
      return carryOut();
    };
    const operations = ['openStock', 'listStock', 'retirePlant'] as const;
    const history: unknown[] = [];
    const act = async (): Promise<void> => {
      const id = any(ids);
      if (Math.random() < 0.3) plants.shop.store.next(any(operations), any([fails, losesItsAnswer, late, late]));
      plants.shop.store.openOrders.set(id, Math.random() < 0.3 ? [1] : []);
      const work = any([
        () => plants.create(id, undefined, hurried),
        () => plants.change(id, { status: any(['available', 'pending', 'sold'] as const) }, hurried),
        () => plants.remove(id, hurried),
      ]);
      const outcome = await outcomeOf(work());
      history.push([id, typeof outcome === 'string' ? outcome : 'ok']);
    };
    const worker = async (): Promise<void> => {
      for (let n = 0; n < 40; n++) await act();
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    plants.shop.store.forgetFates();
    await plants.settled();
    expect({ history, disagreements: await plants.shop.disagreements() }).toEqual({ history, disagreements: [] });
    const outcomes = new Set(history.map((entry) => (entry as string[])[1]));
    expect(outcomes).toEqual(
      new Set(['ok', 'plant-exists', 'plant-not-found', 'plant-has-pending-orders', 'outcome-unknown']),
    );
  }, 60_000);
});
