import { describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { outcomeOf } from '../catalog.spec.fixture.js';
import { fail, gate, loseAnswer } from '../store.fake.js';
import { shortBudgetMs, StockSyncFixture } from './stock-sync.spec.fixture.js';

describe('changes of plants reach the store', () => {
  const plants = StockSyncFixture.forSuite();

  describe('creating', () => {
    it('is durable if the store fails, and the stock is opened in the background', async () => {
      const id = plants.newId();
      plants.shop.store.interceptNext('openStock', fail);
      expect(await outcomeOf(plants.create(id, 5))).toBe('outcome-unknown');
      expect(await plants.get(id)).toMatchObject({ id });
      expect(await outcomeOf(plants.create(id))).toBe('plant-exists');
      await plants.settle();
      expect(plants.stockOf(id)).toMatchObject({ listing: 'available', units: 5 });
    });

    it('is repeated to the store if the answer was lost, without effect', async () => {
      const id = await plants.losingAnswer('openStock', (newId, budgetMs) => plants.create(newId, 5, budgetMs));
      await plants.settle();
      expect(plants.callsFor(id)).toEqual(['openStock', 'openStock']);
      expect(plants.stockOf(id)).toMatchObject({ units: 5 });
    });

    it('waits for a store that is not running', async () => {
      const id = plants.newId();
      await plants.shop.store.stop();
      expect(await outcomeOf(plants.create(id))).toBe('outcome-unknown');
      await plants.shop.store.start();
      await plants.settle();
      expect(plants.stockOf(id)).toMatchObject({ listing: 'available' });
    });

    it('that reaches the store after the deletion opens no stock', async () => {
      const id = plants.newId();
      const opening = gate();
      plants.shop.store.interceptNext('openStock', opening.interceptor);
      const creating = plants.create(id);
      await opening.arrived;
      await plants.remove(id);
      opening.release();
      await creating;
      expect(plants.stockOf(id)).toMatchObject({ listing: 'retired' });
      expect(await outcomeOf(plants.get(id))).toBe('plant-not-found');
    });

    it('with the id of a deleted plant opens new stock, which a late opening of the old plant does not affect', async () => {
      const id = plants.newId();
      const opening = gate();
      plants.shop.store.interceptNext('openStock', opening.interceptor);
      const creating = plants.create(id, 1);
      await opening.arrived;
      await plants.remove(id);
      await plants.create(id, 2);
      opening.release();
      await creating;
      expect(plants.stockOf(id)).toMatchObject({ listing: 'available', units: 2 });
    });
  });

  describe('a status', () => {
    it('reaches the store before the client is answered; a name is not sent', async () => {
      const id = plants.newId();
      await plants.create(id);
      await plants.change(id, { status: 'sold' });
      expect(plants.stockOf(id)).toMatchObject({ listing: 'sold' });
      await plants.change(id, { name: 'Fig' });
      await plants.change(id, { status: 'sold' });
      expect(plants.callsFor(id)).toEqual(['openStock', 'listStock']);
    });

    it('is durable if the answer was lost, and is sent again', async () => {
      const id = await plants.losingAnswer('listStock', (newId, budgetMs) => plants.change(newId, { status: 'pending' }, budgetMs));
      expect(await plants.get(id)).toMatchObject({ status: 'pending' });
      await plants.settle();
      expect(plants.callsFor(id)).toEqual(['openStock', 'listStock', 'listStock']);
    });

    it('that is still pending is sent with the next change of any kind', async () => {
      const id = plants.newId();
      await plants.create(id);
      plants.shop.store.interceptNext('listStock', fail);
      await outcomeOf(plants.change(id, { status: 'pending' }));
      await plants.change(id, { name: 'Fig' });
      expect(plants.stockOf(id)).toMatchObject({ listing: 'pending' });
    });

    it('that arrives late does not undo a newer one', async () => {
      const id = plants.newId();
      await plants.create(id);
      const listing = gate();
      plants.shop.store.interceptNext('listStock', listing.interceptor);
      const first = plants.change(id, { status: 'pending' });
      await listing.arrived;
      await plants.change(id, { status: 'sold' });
      listing.release();
      await first;
      expect(plants.stockOf(id)).toMatchObject({ listing: 'sold' });
    });

    it('changed during the opening wins, whichever call arrives first', async () => {
      const id = plants.newId();
      const opening = gate();
      plants.shop.store.interceptNext('openStock', opening.interceptor);
      const creating = plants.create(id, 7);
      await opening.arrived;
      await plants.change(id, { status: 'sold' });
      opening.release();
      await creating;
      expect(plants.stockOf(id)).toMatchObject({ listing: 'sold', units: 7 });
    });

    it('changed after an opening whose answer was lost wins', async () => {
      await plants.losingAnswer('openStock', async (id, budgetMs) => {
        let isOver = false;
        const creating = outcomeOf(plants.create(id, 7, budgetMs)).finally(() => (isOver = true));
        await until(() => plants.stockOf(id) !== undefined || isOver);
        if (plants.stockOf(id)) {
          await plants.change(id, { status: 'sold' });
          expect(plants.stockOf(id)).toMatchObject({ listing: 'sold', units: 7 });
        }
        return creating;
      });
    });
  });

  it('two replicas share a backlog: the store is called once per plant (slow)', async () => {
    const ids = Array.from({ length: 600 }, () => plants.newId());
    // As after a crash of all replicas between commit and call.
    await plants.shop.database.query(
      `WITH made AS (
         INSERT INTO plants (id, incarnation, version, name, photo_urls, tags, status, bytes, name_words, label_words)
         SELECT id, drawn, drawn, 'left behind', '{}', '[]', 'available', 1, '{left,behind}', '{}'
         FROM (SELECT id, nextval('plant_versions') AS drawn FROM unnest($1::bigint[]) AS id) AS t RETURNING incarnation
       )
       INSERT INTO stock_intents (incarnation, opens, next_try_at) SELECT incarnation, true, now() FROM made`,
      [ids],
    );
    await until(() => plants.hasNoIntents(), 20_000);
    expect(ids.filter((id) => plants.callsFor(id).length !== 1)).toEqual([]);
  });

  it('catalog and store agree in the end after any mix of concurrent changes and failures (slow)', async () => {
    const ids = Array.from({ length: 10 }, () => plants.newId());
    const any = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
    const late = async (carryOut: () => unknown): Promise<unknown> => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
      return carryOut();
    };
    const operations = ['openStock', 'listStock', 'retirePlant'] as const;
    const history: { id: number; kind: string; outcome: string }[] = [];
    const act = async (): Promise<void> => {
      const id = any(ids);
      if (Math.random() < 0.3) plants.shop.store.interceptNext(any(operations), any([fail, loseAnswer, late, late]));
      plants.shop.store.openOrders.set(id, Math.random() < 0.3 ? [1] : []);
      const work = {
        create: () => plants.create(id, undefined, shortBudgetMs),
        change: () => plants.change(id, { status: any(['available', 'pending', 'sold'] as const) }, shortBudgetMs),
        remove: () => plants.remove(id, shortBudgetMs),
      };
      const kind = any(['create', 'change', 'remove'] as const);
      const outcome = await outcomeOf(work[kind]());
      history.push({ id, kind, outcome: typeof outcome === 'string' ? outcome : 'ok' });
    };
    const worker = async (): Promise<void> => {
      for (let n = 0; n < 40; n++) await act();
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    plants.shop.store.clearInterceptors();
    await plants.settle();
    expect({ history, disagreements: await plants.shop.disagreements() }).toEqual({ history, disagreements: [] });
    // Only a deletion can have had no effect; not every mix has one.
    const outcomes = new Set(history.filter(({ kind, outcome }) => kind !== 'remove' || outcome !== 'unavailable').map(({ outcome }) => outcome));
    expect(outcomes).toEqual(new Set(['ok', 'plant-exists', 'plant-not-found', 'plant-has-pending-orders', 'outcome-unknown']));
  }, 60_000);
});
