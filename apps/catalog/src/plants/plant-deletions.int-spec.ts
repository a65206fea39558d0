import { describe, expect, it } from '@jest/globals';
import { catalog } from '@plant-shop/contracts/catalog';
import { outcomeOf } from '../catalog.spec.fixture.js';
import { fail, gate } from '../store.fake.js';
import { shortBudgetMs, StockSyncFixture } from './stock-sync.spec.fixture.js';

describe('deleting a plant', () => {
  const plants = StockSyncFixture.forSuite();

  it('is refused while there are open orders, names them, and leaves the plant usable', async () => {
    const id = plants.newId();
    await plants.create(id);
    plants.shop.store.openOrders.set(id, [7, 9]);
    await expect(plants.remove(id)).rejects.toMatchObject({ code: 'plant-has-pending-orders', details: { orders: [7, 9] } });
    await plants.change(id, { status: 'sold' });
    expect(plants.stockOf(id)).toMatchObject({ listing: 'sold' });
    plants.shop.store.openOrders.delete(id);
    await plants.remove(id);
    expect(await outcomeOf(plants.get(id))).toBe('plant-not-found');
  });

  it('has no effect without a store, and none later', async () => {
    const id = plants.newId();
    await plants.create(id);
    plants.shop.store.interceptNext('retirePlant', fail);
    expect(await outcomeOf(plants.remove(id))).toBe('unavailable');
    expect(await plants.hasNoIntents()).toBe(true);
    expect(await plants.get(id)).toMatchObject({ id });
    expect(plants.callsFor(id)).toEqual(['openStock', 'retirePlant']);
  });

  it('completes in the background if the answer was lost', async () => {
    const id = await plants.losingAnswer('retirePlant', (newId, budgetMs) => plants.remove(newId, budgetMs));
    await plants.settle();
    expect(await outcomeOf(plants.get(id))).toBe('plant-not-found');
  });

  it('that is refused in the background leaves the plant and its other pending calls', async () => {
    const id = plants.newId();
    await plants.create(id);
    plants.shop.store.openOrders.set(id, [7]);
    plants.shop.store.interceptNext('listStock', fail);
    for (let tries = 1; tries <= 3; tries++) plants.shop.store.interceptNext('retirePlant', fail);
    await outcomeOf(plants.change(id, { status: 'pending' }));
    await expect(plants.remove(id)).rejects.toMatchObject({
      code: 'outcome-unknown',
      message: expect.stringMatching(new RegExp(`^It is not known yet whether plant ${id} was deleted\\.`)),
    });
    expect(plants.callsFor(id).filter((call) => call === 'retirePlant')).toHaveLength(3);
    await plants.settle();
    expect(await plants.get(id)).toMatchObject({ status: 'pending' });
    expect(plants.stockOf(id)).toMatchObject({ listing: 'pending' });
  });

  it('that was abandoned does not happen later, when the orders are closed', async () => {
    const id = plants.newId();
    await plants.create(id);
    const retiring = gate();
    plants.shop.store.interceptNext('retirePlant', retiring.interceptor);
    const removing = outcomeOf(plants.remove(id, shortBudgetMs));
    await retiring.arrived;
    plants.shop.store.openOrders.set(id, [7]);
    expect(await removing).toBe('outcome-unknown');
    await plants.settle();
    plants.shop.store.openOrders.delete(id);
    retiring.release();
    await plants.change(id, { status: 'pending' });
    expect(plants.stockOf(id)).toMatchObject({ listing: 'pending' });
  });

  it('twice concurrently succeeds once', async () => {
    const id = plants.newId();
    await plants.create(id);
    const [first, second] = [gate(), gate()];
    plants.shop.store.interceptNext('retirePlant', first.interceptor);
    plants.shop.store.interceptNext('retirePlant', second.interceptor);
    const removals = [outcomeOf(plants.remove(id)), outcomeOf(plants.remove(id))];
    await Promise.all([first.arrived, second.arrived]);
    first.release();
    second.release();
    expect(await Promise.all(removals)).toEqual(expect.arrayContaining([{ plantId: id }, 'plant-not-found']));
  });

  it('is retried if a later attempt was answered first, and then names the open orders', async () => {
    const id = plants.newId();
    await plants.create(id);
    plants.shop.store.openOrders.set(id, [7]);
    const early = gate();
    plants.shop.store.interceptNext('retirePlant', early.interceptor);
    const first = plants.remove(id);
    await early.arrived;
    expect(await outcomeOf(plants.remove(id))).toBe('plant-has-pending-orders');
    early.release();
    await expect(first).rejects.toMatchObject({ code: 'plant-has-pending-orders', details: { orders: [7] } });
    expect(plants.callsFor(id)).toEqual(['openStock', 'retirePlant', 'retirePlant', 'retirePlant']);
  });

  it('stays pending if another attempt was refused just before the orders were closed', async () => {
    const id = plants.newId();
    await plants.create(id);
    const early = gate();
    plants.shop.store.interceptNext('retirePlant', early.interceptor);
    plants.shop.store.openOrders.set(id, [7]);
    const refused = outcomeOf(plants.remove(id));
    await early.arrived;
    const late = gate();
    plants.shop.store.interceptNext('retirePlant', late.interceptor);
    const removing = outcomeOf(plants.remove(id, shortBudgetMs));
    await late.arrived;
    early.release();
    expect(await refused).toBe('plant-has-pending-orders');
    plants.shop.store.openOrders.delete(id);
    expect(await removing).toBe('outcome-unknown');
    late.release();
    await plants.settle();
    expect(await outcomeOf(plants.get(id))).toBe('plant-not-found');
  });

  it('leaves the id taken until it is complete', async () => {
    const id = plants.newId();
    await plants.create(id);
    const retiring = gate();
    plants.shop.store.interceptNext('retirePlant', retiring.interceptor);
    const removing = plants.remove(id);
    await retiring.arrived;
    expect(await outcomeOf(plants.create(id))).toBe('plant-exists');
    retiring.release();
    await removing;
    await plants.create(id);
    expect(plants.stockOf(id)).toMatchObject({ listing: 'available' });
  });

  it('also deletes a plant that is changed meanwhile', async () => {
    const id = plants.newId();
    await plants.create(id);
    const retiring = gate();
    plants.shop.store.interceptNext('retirePlant', retiring.interceptor);
    const removing = plants.remove(id);
    await retiring.arrived;
    expect(await plants.change(id, { status: 'sold' })).toMatchObject({ status: 'sold' });
    retiring.release();
    await removing;
    expect(await outcomeOf(plants.change(id, { status: 'pending' }))).toBe('plant-not-found');
    expect(plants.stockOf(id)).toMatchObject({ listing: 'retired' });
  });

  describe('in the audit log', () => {
    const audited = async (id: number) =>
      (await plants.shop.caller.call(catalog.readAudit, { operation: 'catalog.deletePlant' })).filter(({ target }) => target === String(id));
    const clerk = { subject: '00000000-0000-4000-8000-00000000000c', permissions: ['write:plants'], shown: ['apiKey'] };

    it('names the actor who requested the deletion, even if the request has ended by then', async () => {
      const id = await plants.losingAnswer('retirePlant', (plantId, budgetMs) => plants.shop.caller.call(catalog.deletePlant, { plantId }, clerk, budgetMs));
      await plants.settle();
      expect(await audited(id)).toMatchObject([{ subject: clerk.subject, credentials: [{ kind: 'apiKey' }], requestId: 'test' }]);
    });

    it('omits a deletion that the store refused', async () => {
      const id = plants.newId();
      await plants.create(id);
      plants.shop.store.interceptNext('retirePlant', () => ({ openOrders: [7] }));
      expect(await outcomeOf(plants.shop.caller.call(catalog.deletePlant, { plantId: id }, clerk))).toBe('plant-has-pending-orders');
      expect(await audited(id)).toEqual([]);
    });
  });
});
