import { describe, expect, it } from '@jest/globals';
import { catalog } from '@plant-shop/contracts/catalog';
import { outcomeOf } from '../catalog.spec.fixture.js';
import { fails, gate, losesItsAnswer } from '../store.fake.js';
import { hurried, ToldPlants } from './told-plants.spec.fixture.js';

describe('deleting a plant', () => {
  const plants = ToldPlants.ofEachTest();

  it('is refused while there are open orders, which are named, and the plant stays as it is', async () => {
    const id = plants.newId();
    await plants.create(id);
    plants.shop.store.openOrders.set(id, [7, 9]);
    await expect(plants.remove(id)).rejects.toMatchObject({ code: 'plant-has-pending-orders', details: { orders: [7, 9] } });
    await plants.change(id, { status: 'sold' });
    expect(plants.shelf(id)).toMatchObject({ listing: 'sold' });
    plants.shop.store.openOrders.delete(id);
    await plants.remove(id);
    expect(await outcomeOf(plants.get(id))).toBe('plant-not-found');
  });

  it('goes on by itself when the answer was lost', async () => {
    const id = plants.newId();
    await plants.create(id);
    plants.shop.store.next('retirePlant', losesItsAnswer);
    expect(await outcomeOf(plants.remove(id, hurried))).toBe('outcome-unknown');
    await plants.settled();
    expect(await outcomeOf(plants.get(id))).toBe('plant-not-found');
  });

  it('that goes on by itself and is refused leaves the plant and what else there is to tell', async () => {
    const id = plants.newId();
    await plants.create(id);
    plants.shop.store.openOrders.set(id, [7]);
    plants.shop.store.next('listStock', fails);
    for (let tries = 1; tries <= 3; tries++) plants.shop.store.next('retirePlant', fails);
    await outcomeOf(plants.change(id, { status: 'pending' }));
    expect(await outcomeOf(plants.remove(id))).toBe('outcome-unknown');
    expect(plants.callsFor(id).filter((call) => call === 'retirePlant')).toHaveLength(3);
    await plants.settled();
    expect(await plants.get(id)).toMatchObject({ status: 'pending' });
    expect(plants.shelf(id)).toMatchObject({ listing: 'pending' });
  });

  it('that was given up does not happen later, when its orders are closed', async () => {
    const id = plants.newId();
    await plants.create(id);
    const retiring = gate();
    plants.shop.store.next('retirePlant', retiring.fate);
    const removing = outcomeOf(plants.remove(id, hurried));
    await retiring.arrived;
    plants.shop.store.openOrders.set(id, [7]);
    expect(await removing).toBe('outcome-unknown');
    await plants.settled();
    plants.shop.store.openOrders.delete(id);
    retiring.go();
    await plants.change(id, { status: 'pending' });
    expect(plants.shelf(id)).toMatchObject({ listing: 'pending' });
  });

  it('twice at the same time succeeds once', async () => {
    const id = plants.newId();
    await plants.create(id);
    const [first, second] = [gate(), gate()];
    plants.shop.store.next('retirePlant', first.fate);
    plants.shop.store.next('retirePlant', second.fate);
    const removals = [outcomeOf(plants.remove(id)), outcomeOf(plants.remove(id))];
    await Promise.all([first.arrived, second.arrived]);
    first.go();
    second.go();
    expect(await Promise.all(removals)).toEqual(expect.arrayContaining([{ plantId: id }, 'plant-not-found']));
  });

  it('is tried anew when a later attempt was answered first, and then says what keeps it', async () => {
    const id = plants.newId();
    await plants.create(id);
    plants.shop.store.openOrders.set(id, [7]);
    const early = gate();
    plants.shop.store.next('retirePlant', early.fate);
    const first = plants.remove(id);
    await early.arrived;
    expect(await outcomeOf(plants.remove(id))).toBe('plant-has-pending-orders');
    early.go();
    await expect(first).rejects.toMatchObject({ code: 'plant-has-pending-orders', details: { orders: [7] } });
    expect(plants.callsFor(id)).toEqual(['openStock', 'retirePlant', 'retirePlant', 'retirePlant']);
  });

  it('is not forgotten when another attempt was refused just before its orders were closed', async () => {
    const id = plants.newId();
    await plants.create(id);
    const early = gate();
    plants.shop.store.next('retirePlant', early.fate);
    plants.shop.store.openOrders.set(id, [7]);
    const refused = outcomeOf(plants.remove(id));
    await early.arrived;
    const late = gate();
    plants.shop.store.next('retirePlant', late.fate);
    const removing = outcomeOf(plants.remove(id, hurried));
    await late.arrived;
    early.go();
    expect(await refused).toBe('plant-has-pending-orders');
    plants.shop.store.openOrders.delete(id);
    expect(await removing).toBe('outcome-unknown');
    late.go();
    await plants.settled();
    expect(await outcomeOf(plants.get(id))).toBe('plant-not-found');
  });

  it('keeps its id taken until it is done', async () => {
    const id = plants.newId();
    await plants.create(id);
    const retiring = gate();
    plants.shop.store.next('retirePlant', retiring.fate);
    const removing = plants.remove(id);
    await retiring.arrived;
    expect(await outcomeOf(plants.create(id))).toBe('plant-exists');
    retiring.go();
    await removing;
    await plants.create(id);
    expect(plants.shelf(id)).toMatchObject({ listing: 'available' });
  });

  it('takes a plant with it that is changed meanwhile', async () => {
    const id = plants.newId();
    await plants.create(id);
    const retiring = gate();
    plants.shop.store.next('retirePlant', retiring.fate);
    const removing = plants.remove(id);
    await retiring.arrived;
    expect(await plants.change(id, { status: 'sold' })).toMatchObject({ status: 'sold' });
    retiring.go();
    await removing;
    expect(await outcomeOf(plants.change(id, { status: 'pending' }))).toBe('plant-not-found');
    expect(plants.shelf(id)).toMatchObject({ listing: 'retired' });
  });

  describe('in the audit log', () => {
    const audited = async (id: number) =>
      (await plants.shop.caller.call(catalog.readAudit, { operation: 'catalog.deletePlant' })).filter(({ target }) => target === String(id));
    const clerk = { subject: '00000000-0000-4000-8000-00000000000c', permissions: ['write:plants'], shown: ['apiKey'] };

    it('names who asked for a plant to be deleted, also when the request is long gone by then', async () => {
      const id = plants.newId();
      await plants.create(id);
      plants.shop.store.next('retirePlant', losesItsAnswer);
      expect(await outcomeOf(plants.shop.caller.call(catalog.deletePlant, { plantId: id }, clerk, hurried))).toBe('outcome-unknown');
      await plants.settled();
      expect(await audited(id)).toMatchObject([{ subject: clerk.subject, credentials: ['apiKey'], requestId: 'test' }]);
    });

    it('has nothing of a deletion that the store refused', async () => {
      const id = plants.newId();
      await plants.create(id);
      plants.shop.store.next('retirePlant', () => ({ openOrders: [7] }));
      expect(await outcomeOf(plants.shop.caller.call(catalog.deletePlant, { plantId: id }, clerk))).toBe('plant-has-pending-orders');
      expect(await audited(id)).toEqual([]);
    });
  });
});
