import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { store } from '@plant-shop/contracts/store';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { sampleOf, shapeOf } from './samples.js';
import { fake, startFake, TestCaller } from './service.js';

describe('a fake of another service', () => {
  let nats: TestNats;
  let caller: TestCaller;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    nats = await startNats();
    caller = await TestCaller.connect(nats.url);
    ({ stop } = await startFake(nats.url, 'store', [
      fake(store.getStock),
      fake(store.openStock, ({ plantId }) => ({ plantId: plantId + 1 })),
    ]));
  });
  afterAll(async () => {
    await stop();
    await caller.close();
    await nats.stop();
  });

  it("answers with the contract's sample, or with the test's answer", async () => {
    const { request, answer } = sampleOf(store.getStock);
    await expect(caller.call(store.getStock, request)).resolves.toEqual(answer);
    const opening = sampleOf(store.openStock).request;
    await expect(caller.call(store.openStock, opening)).resolves.toEqual({ plantId: opening.plantId + 1 });
  });

  it("refuses requests that the real service's contract refuses", async () => {
    await expect(caller.call(store.getStock, { plantId: 0 })).rejects.toMatchObject({ code: 'invalid-input' });
  });
});

describe('the shape of an answer', () => {
  it('consists of its names and types, in any order, without undefined members', () => {
    const one = { id: 7, tags: [{ id: 1, name: 'a' }, { name: 'b', id: 2 }], note: undefined };
    expect(shapeOf(one)).toEqual(shapeOf({ tags: [{ id: 5, name: 'x' }], id: 9 }));
    expect(shapeOf(one)).toEqual({ id: 'number', tags: [{ id: 'number', name: 'string' }] });
  });

  it('differs if a member is missing, added or of another type', () => {
    const shape = shapeOf({ id: 7, name: 'a' });
    for (const other of [{ id: 7 }, { id: 7, name: 'a', more: 1 }, { id: '7', name: 'a' }, { id: 7, name: null }]) {
      expect(shapeOf(other)).not.toEqual(shape);
    }
  });
});
