import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Destination, notifications } from '@plant-shop/contracts/notifications';
import { atEveryPoint, type CrashTestbed, crashTestTimeoutMs } from '@plant-shop/service-testing/crash/every-point';
import { Run } from '@plant-shop/service-testing/crash/run';
import { until } from '@plant-shop/testing/until';
import { FeedFollower } from '../event-flow.js';
import { TestWebhooks } from '../webhooks/webhooks.spec.fixture.js';
import { admin, TestBroker } from './export.spec.fixture.js';
import { Exporter } from './exporter.js';

describe('when replicas crash or lose connections at any point', () => {
  let shop: TestWebhooks;
  let stage: CrashTestbed;
  let broker: TestBroker;
  let destination: Destination;
  let orders = 0;
  beforeAll(async () => {
    broker = await TestBroker.start();
    await broker.addStream({ duplicate_window: 100_000_000 });
    shop = await TestWebhooks.start({ replicas: 0 });
    stage = await shop.crashStage({}, { DESTINATION_ALLOWED_TARGETS: '127.0.0.1:*' });
    destination = await shop.call(notifications.createDestination, { destination: { name: 'A', url: broker.nats.url, stream: 'EVENTS' } }, admin);
  });
  afterAll(async () => {
    await stage.stop();
    await shop.stop();
    await broker.stop();
  });

  it('a destination gets every event, those of an order in order, and repeats have the same id', async () => {
    await atEveryPoint(stage, {
      name: 'publish events',
      minCalls: 8,
      given: () => Promise.resolve(),
      makeDue: async () => {
        // The survivor's lease ends, as if it had ended.
        await shop.sql.query(`UPDATE destinations SET lease = NULL, lease_until = '-infinity', look_at = '-infinity'`);
        const orderId = ++orders;
        shop.happenSilently({ orderId }, { orderId, newStatus: 'delivered' });
      },
      when: async (victim) => {
        await new Run().within(() => victim.app.get(FeedFollower).follower.run());
        const exporter = victim.app.get(Exporter);
        await exporter.run();
        await exporter.endRuns();
      },
      eventually: async () => {
        // Ends leases and pauses, as time would.
        await shop.sql.query(`UPDATE destinations SET lease = NULL, lease_until = '-infinity', look_at = '-infinity'`);
        shop.publish([]);
        await until(async () => {
          const { behindEvents } = await shop.call(notifications.getDestination, { destinationId: destination.id }, admin);
          return behindEvents === 0 && (await shop.sql.query('SELECT 1 FROM feed_watermark WHERE watermark = $1', [shop.feed.length])).rowCount === 1;
        });
        expect(await broker.ids()).toEqual(shop.feed.map(({ id }) => id));
      },
    });
  }, crashTestTimeoutMs);
});
