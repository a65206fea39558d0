import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Destination, notifications } from '@plant-shop/contracts/notifications';
import { LogRetention } from '@plant-shop/events/log-retention';
import { createLogger } from '@plant-shop/platform/logging';
import { until } from '@plant-shop/testing/until';
import { Registry } from 'prom-client';
import { eventsNotPublished } from './destinations.repository.js';
import { admin, ExportShop, TestBroker } from './export.spec.fixture.js';

describe('destinations', () => {
  let test: ExportShop;
  let broker: TestBroker;
  beforeAll(async () => {
    test = await ExportShop.open();
  });
  afterEach(async () => {
    await test.reset();
    await broker.stop();
  });
  afterAll(() => test.close());

  const idsOf = (events: readonly { id: string }[]): string[] => events.map(({ id }) => id);
  /** Expects all events, and those of each order in order. Repeats have the same id. */
  async function expectAll(events = test.shop.feed): Promise<void> {
    const messages = await broker.messages();
    expect(new Set(idsOf(messages))).toEqual(new Set(idsOf(events)));
    const first = [...new Map(messages.toReversed().map((one) => [one.id, messages.indexOf(one)] as const))];
    const place = new Map(first);
    for (const [n, event] of events.entries()) {
      const { orderId } = (JSON.parse(event.body) as { data: { orderId: number } }).data;
      const next = events.slice(n + 1).find(({ body }) => (JSON.parse(body) as { data: { orderId: number } }).data.orderId === orderId);
      if (next) expect(place.get(event.id)).toBeLessThan(place.get(next.id) ?? -1);
    }
  }
  const orders = (count: number): { orderId: number }[] => Array.from({ length: count }, (_, n) => ({ orderId: 1 + (n % 7) }));

  it('get new events that match, with id, order, number and epoch, and pass over the others (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream();
    await test.start();
    test.shop.move(3);
    await test.shop.isLogged();
    const destination = await test.create(broker, { plantId: 8, newStatuses: ['approved'], eventTypes: ['order.status_changed', 'stock.out'] });
    const events = test.shop.move([{ plantId: 7 }, { plantId: 8, orderId: 17 }, { plantId: 8, newStatus: 'delivered' }, { plantId: 8, type: 'order.placed' }, { plantId: 8, type: 'stock.out' }]);
    await test.isUpToDate(destination);
    const messages = await broker.messages();
    expect(messages.map(({ subject, id, body }) => ({ subject, id, body }))).toEqual([
      { subject: 'shop.events.order.17', id: events[1]?.id, body: events[1]?.body },
      { subject: 'shop.events.stock.8', id: events[4]?.id, body: events[4]?.body },
    ]);
    expect(['Shop-Order', 'Shop-Sequence', 'Shop-Epoch'].map((name) => messages[0]?.header(name))).toEqual(['17', `${events[1]?.seq}`, test.shop.epoch]);
    test.shop.move([{ plantId: 7 }, { plantId: 7 }]);
    await test.isUpToDate(destination);
    expect(await broker.messages()).toHaveLength(2);
  }, 30_000);

  it('are held while the broker is away, with events counted, and get all of them, those of an order in order (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream();
    const replica = await test.start();
    const destination = await test.create(broker);
    test.shop.move(orders(40));
    await test.isUpToDate(destination);
    await broker.nats.stop();
    test.shop.move(orders(3_000));
    await test.isHeld(destination, 'unreachable');
    await test.shop.isLogged();
    expect((await test.get(destination)).behindEvents).toBe(3_000);
    await until(async () => (await replica.metric('destination_held')) === 1, 20_000);
    await broker.nats.restart();
    test.shop.move(orders(40));
    await test.isUpToDate(destination);
    await expectAll();
  }, 60_000);

  it('get everything again that a stream has lost: emptied, or restored to an older state (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream();
    await test.start();
    const destination = await test.create(broker);
    test.shop.move(orders(50));
    await test.isUpToDate(destination);
    await broker.nats.stop();
    const restore = await broker.copy();
    await broker.nats.restart();
    test.shop.move(orders(50));
    await test.isUpToDate(destination);
    await broker.nats.stop();
    await restore();
    await broker.nats.restart();
    await until(async () => (await broker.messages()).length === 100);
    await expectAll();

    await broker.nats.stop();
    await broker.empty();
    await broker.nats.restart();
    await test.isHeld(destination, 'stream-missing');
    await broker.addStream();
    await until(async () => (await broker.messages()).length === 100);
    await expectAll();
    // Made anew while the shop is connected.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await broker.with(async (streams) => {
      await streams.delete('EVENTS');
      await streams.add({ name: 'EVENTS', subjects: ['shop.events.>'] });
    });
    test.shop.move(orders(1));
    await test.isUpToDate(destination);
    await expectAll();
  }, 90_000);

  it.each([
    ['a restore', true],
    ['a failover that lost nothing', false],
  ])('get a marker between the events of two histories of the shop: %s (slow)', async (_, hasLostEvents) => {
    broker = await TestBroker.start();
    await broker.addStream();
    await test.start();
    const destination = await test.create(broker);
    const before = test.shop.move(3);
    await test.isUpToDate(destination);
    if (hasLostEvents) test.shop.beginEpoch(2, 2);
    else test.shop.failOver(2, 0);
    const after = test.shop.move(3);
    await test.isUpToDate(destination);
    const messages = await broker.messages();
    expect(messages.map(({ id, subject }) => (subject === 'shop.events.gap' ? 'gap' : id))).toEqual([...idsOf(before), 'gap', ...idsOf(after)]);
    expect(JSON.parse(messages[3]?.body ?? '')).toMatchObject({ event: 'stream.gap', data: { reason: 'restored' } });
    expect([2, 3, 4].map((n) => messages[n]?.header('Shop-Epoch'))).toEqual([before, after, after].map((_, n) => test.shop.epoch.slice(0, -1) + (n === 0 ? '1' : '2')));
  }, 30_000);

  it('get a marker when the log was restored, or no longer has what comes next (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream();
    const replica = await test.start();
    const destination = await test.create(broker);
    test.shop.move(5);
    await test.isUpToDate(destination);
    await replica.stop();
    test.shop.storeIsDown = true;
    await test.shop.restoreLog(3);
    await test.start();
    await until(async () => (await broker.messages()).length === 6);
    test.shop.storeIsDown = false;
    test.shop.move(2);
    await test.isUpToDate(destination);
    expect((await broker.messages()).map(({ subject }) => subject.split('.')[2])).toEqual(['order', 'order', 'order', 'order', 'order', 'gap', 'order', 'order']);
    await expectGapAfterRetention(destination);
  }, 30_000);

  async function expectGapAfterRetention(destination: Destination): Promise<void> {
    await broker.nats.stop();
    // Otherwise it may have read the events before they are forgotten.
    await test.isHeld(destination, 'unreachable');
    test.shop.move(2);
    await test.shop.forgetLog();
    await broker.nats.restart();
    await test.isUpToDate(destination);
    expect(JSON.parse((await broker.messages()).at(-1)?.body ?? '')).toMatchObject({ data: { reason: 'cursor-too-old' } });
  }

  it('are published to by one replica at a time, and by another when it ends (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream({ duplicate_window: 100_000_000 });
    const [first] = [await test.start(), await test.start()];
    const destination = await test.create(broker);
    for (let n = 0; n < 20; n++) {
      test.shop.move(orders(10));
      await test.isUpToDate(destination);
    }
    expect(await broker.messages()).toHaveLength(200);
    await first.stop();
    test.shop.move(orders(50));
    await test.isUpToDate(destination);
    await expectAll();
    expect(await broker.messages()).toHaveLength(250);
  }, 40_000);

  it('get the events of a period again, with the same ids, beside new ones (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream({ duplicate_window: 100_000_000 });
    await test.start();
    const destination = await test.create(broker);
    const [old] = test.shop.move(1);
    await test.isUpToDate(destination);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const since = new Date().toISOString();
    const wanted = test.shop.move(orders(20));
    await test.isUpToDate(destination);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const until_ = new Date().toISOString();
    test.shop.move(1);
    await test.isUpToDate(destination);
    const later = new Date(Date.now() + 60_000).toISOString();
    await expect(test.caller.call(notifications.replayDestination, { destinationId: destination.id, replay: { since: later } }, admin)).rejects.toMatchObject({ code: 'invalid-input' });
    const during = await test.caller.call(notifications.replayDestination, { destinationId: destination.id, replay: { since, until: until_ } }, admin);
    expect(during.replay).toEqual({ since, until: until_ });
    await until(async () => (await test.get(destination)).replay === undefined);
    const replayed = (await broker.messages()).filter(({ header }) => header('Shop-Replay') === 'true');
    expect(idsOf(replayed).toSorted()).toEqual(idsOf(wanted));
    expect(idsOf(replayed)).not.toContain(old?.id);
  }, 30_000);

  it('stay below their rate (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream();
    await test.start();
    const destination = await test.create(broker, { perSecond: 200 });
    const begun = performance.now();
    for (let n = 0; n < 5; n++) test.shop.move(orders(80));
    await test.isUpToDate(destination);
    expect(performance.now() - begun).toBeGreaterThan(1_500);
  }, 30_000);

  it('that are disabled wait, and those that are deleted get nothing more (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream();
    await test.start();
    const destination = await test.create(broker);
    await test.replace(destination, { state: 'disabled' });
    const events = test.shop.move(3);
    await test.shop.isLogged();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await broker.messages()).toEqual([]);
    await test.replace(destination, { state: 'enabled' });
    await test.isUpToDate(destination);
    await expectAll(events);
    await test.caller.call(notifications.deleteDestination, { destinationId: destination.id }, admin);
    test.shop.move(3);
    await test.shop.isLogged();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await expectAll(events);
  }, 30_000);

  it('keep the log from deleting what they lack or are to get again, until they are disabled, and say then what they missed (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream({ duplicate_window: 100_000_000 });
    const { service } = await test.start();
    const retention = new LogRetention(service.database!, { keepMs: 0, needs: [eventsNotPublished] }, new Registry(), createLogger('test', 'fatal'));
    const destination = await test.create(broker);
    /** Returns the number of the oldest event that is left, if age does not keep any. */
    const oldest = async (): Promise<number> => {
      await retention.sweep();
      return Number((await test.shop.sql.query<{ oldest: string }>('SELECT oldest FROM log_kept')).rows[0]?.oldest);
    };
    test.shop.move(2);
    await test.isUpToDate(destination);
    // The last event stays: the feed identifies the log by its id.
    await until(async () => (await oldest()) === 2);
    test.shop.move(2);
    await test.isUpToDate(destination);
    await broker.nats.stop();
    test.shop.move(3);
    await test.isHeld(destination, 'unreachable');
    await until(async () => (await oldest()) === 5);
    await broker.nats.restart();
    await test.isUpToDate(destination);
    await broker.nats.stop();
    const replay = { since: new Date(Date.now() - 60_000).toISOString() };
    await test.caller.call(notifications.replayDestination, { destinationId: destination.id, replay }, admin);
    const events = test.shop.move(3);
    await test.isHeld(destination, 'unreachable');
    expect(await oldest()).toBe(5);
    await test.replace(destination, { state: 'disabled' });
    await until(async () => (await oldest()) === 10);
    await broker.nats.restart();
    await test.replace(destination, { state: 'enabled' });
    await until(async () => (await test.get(destination)).replay === undefined);
    await test.isUpToDate(destination);
    const later = (await broker.messages()).slice(7).map(({ id, header }) => (header('Shop-Gap') === 'true' ? 'gap' : id));
    expect(later[0]).toBe('gap');
    expect(new Set(later)).toEqual(new Set(['gap', events[2]?.id]));
  }, 60_000);
});
