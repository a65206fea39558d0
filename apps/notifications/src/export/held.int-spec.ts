import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DiscardPolicy } from '@nats-io/jetstream';
import { notifications } from '@plant-shop/contracts/notifications';
import { admin, ExportShop, TestBroker } from './export.spec.fixture.js';

describe('a destination that does not take events', () => {
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

  const ids = (): string[] => test.shop.feed.map(({ id }) => id);

  it.each([
    { reason: 'stream-missing', config: undefined },
    { reason: 'other-subjects', config: { subjects: ['another.>'] } },
  ])('is held as $reason until the stream is as it should be (slow)', async ({ reason, config }) => {
    broker = await TestBroker.start();
    if (config) await broker.addStream(config);
    await test.start();
    const destination = await test.create(broker);
    test.shop.move(5);
    await test.isHeld(destination, reason);
    expect((await test.get(destination)).connected).toBe(false);
    if (config) await broker.with((streams) => streams.update('EVENTS', { subjects: ['shop.events.>'] }));
    else await broker.addStream();
    await test.isUpToDate(destination);
    expect((await test.get(destination)).connected).toBe(true);
    const { name, url, stream, subject, eventTypes } = await test.get(destination);
    const replaced = await test.caller.call(notifications.replaceDestination, { destinationId: destination.id, destination: { name, url: url.replace(/\d+$/, '9'), stream, subject, eventTypes: [...eventTypes] } }, admin);
    expect(replaced.connected).toBe(false);
    expect((await broker.ids()).toSorted()).toEqual(ids());
  }, 40_000);

  it('is held if another stream has its subjects (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream({ name: 'OTHER' });
    await broker.addStream({ subjects: ['another.>'] });
    await test.start();
    const destination = await test.create(broker);
    test.shop.move(1);
    await test.isHeld(destination, 'other-subjects');
    expect(await broker.with(async (streams) => (await streams.info('OTHER')).state.messages)).toBe(0);
  }, 30_000);

  it('is held while its stream is full, and stores each event once when there is room (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream({ max_msgs: 30, discard: DiscardPolicy.New });
    await test.start();
    const destination = await test.create(broker);
    test.shop.move(Array.from({ length: 100 }, (_, n) => ({ orderId: 1 + (n % 9) })));
    await test.isHeld(destination, 'stream-full');
    expect((await broker.messages()).length).toBe(30);
    await broker.with((streams) => streams.update('EVENTS', { max_msgs: 1_000 }));
    await test.isUpToDate(destination);
    expect((await broker.ids()).toSorted()).toEqual(ids());
    expect(await broker.messages()).toHaveLength(100);
  }, 40_000);

  it('is held before an event that is too large for the stream or the server, and skips none (slow)', async () => {
    broker = await TestBroker.start('max_payload: 900');
    await broker.addStream({ max_msg_size: 650 });
    await test.start();
    const destination = await test.create(broker, { eventTypes: ['order.status_changed'] });
    test.shop.move([{}, { newStatus: 'a'.repeat(300) }, {}]);
    await test.isHeld(destination, 'too-large');
    expect(await broker.ids()).not.toContain(test.shop.feed[1]?.id);
    await broker.with((streams) => streams.update('EVENTS', { max_msg_size: -1 }));
    await test.isUpToDate(destination);
    test.shop.move([{ newStatus: 'a'.repeat(1_000) }, {}]);
    await test.isHeld(destination, 'too-large');
    await broker.reconfigure('max_payload: 5000');
    await test.isUpToDate(destination);
    expect((await broker.ids()).toSorted()).toEqual(ids());
  }, 60_000);

  it('is refused at an internal address, also by a name, unless a setting allows it (slow)', async () => {
    broker = await TestBroker.start();
    await broker.addStream();
    const replica = await test.start({ DESTINATION_ALLOWED_TARGETS: '', WEBHOOK_ALLOWED_TARGETS: '127.0.0.1:*' });
    for (const url of [broker.nats.url, 'nats://localhost:4222', 'nats://[::1]:4222', 'tls://0x7f000001:4222', 'nats://10.0.0.1:4222', 'nats://broker.internal:4222', 'tls://broker.example:22']) {
      await expect(test.create(broker, { url })).rejects.toMatchObject({ code: 'invalid-input' });
    }
    await replica.stop();
    await test.start();
    const destination = await test.create(broker);
    await test.isUpToDate(destination);
    await test.shop.sql.query(`UPDATE destinations SET url = 'nats://10.0.0.1:4222', version = version + 1`);
    test.shop.move(1);
    await test.isHeld(destination, 'refused');
  }, 30_000);

  it('needs an administrator who may read orders (slow)', async () => {
    broker = await TestBroker.start();
    await test.start();
    const create = (permissions: string[]): Promise<unknown> =>
      test.caller.call(notifications.createDestination, { destination: { name: 'A', url: broker.nats.url, stream: 'EVENTS' } }, { ...admin, permissions });
    await expect(create(['write:users'])).rejects.toMatchObject({ code: 'forbidden' });
    await expect(create(['read:orders', 'webhooks'])).rejects.toMatchObject({ code: 'forbidden' });
    await create(['read:orders', 'write:users']);
  }, 30_000);
});
