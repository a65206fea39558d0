import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Shop, userId } from './stream.spec.fixture.js';

describe('the stream by WebSocket', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open();
  });
  afterEach(() => shop.reset());
  afterAll(() => shop.close());

  it('sends what happens as the bytes that the store has, and nothing else', async () => {
    const replica = await shop.start();
    const client = await replica.opened();
    const events = shop.move(3);
    await client.has(3);
    expect(client.frames).toEqual(events.map(({ body }) => body));
  });

  it('shows customers their own events and staff those of everybody', async () => {
    const replica = await shop.start();
    const [own, other, admin] = await Promise.all(['key', 'other', 'admin'].map((key) => replica.opened(`api_key=${key}`)));
    const events = shop.move([{}, { subject: userId(2) }, {}, { subject: userId(9) }]);
    await admin?.has(4);
    const bodies = events.map(({ body }) => body);
    expect(admin?.frames).toEqual(bodies);
    await own?.has(2);
    expect(own?.frames).toEqual([bodies[0], bodies[2]]);
    expect(other?.frames).toEqual([bodies[1]]);
  });

  it('adds id and cursor when a cursor is given, and goes on after it', async () => {
    const replica = await shop.start();
    const first = await replica.opened('api_key=key&cursor=latest');
    const events = shop.move(5);
    await first.has(5);
    expect(first.events.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    const second = await replica.opened(`api_key=key&cursor=${first.events[1]?.cursor}`);
    await second.has(3);
    expect(second.frames).toEqual(first.frames.slice(2));
  });
});
