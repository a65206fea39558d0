import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { LogRetention } from '@plant-shop/events/log-retention';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import type pg from 'pg';
import { Registry } from 'prom-client';
import { eventsWithoutDeliveries } from '../../event-flow.js';
import { logAndCrash } from '../../log/log.spec.fixture.js';
import { customer, epoch, staff, TestWebhooks } from '../webhooks.spec.fixture.js';

interface EnqueuedDelivery {
  readonly seq: number;
  readonly orderId: number;
}

describe('enqueueing deliveries behind the log', () => {
  let shop: TestWebhooks;
  let receiver: Receiver;
  let webhook: { id: string };
  beforeEach(async () => {
    receiver = await Receiver.start();
    shop = await TestWebhooks.start({ replicas: 0 });
    await shop.addReplica();
    webhook = await shop.create(receiver.url);
  });
  afterEach(async () => {
    await shop.stop();
    await receiver.stop();
  });

  const watermarks = async (): Promise<number[]> => {
    const text = 'SELECT f.watermark AS log, w.watermark AS webhooks FROM feed_watermark f, webhook_watermark w';
    return (await shop.sql.query<{ log: number; webhooks: number }>(text)).rows.flatMap(({ log, webhooks }) => [log, webhooks]);
  };
  const logIs = (seq: number): Promise<void> => until(async () => (await watermarks())[0] === seq);
  /** Returns the deliveries by id, in which those of an order are sent. */
  const enqueued = async (): Promise<EnqueuedDelivery[]> =>
    (await shop.sql.query<EnqueuedDelivery>('SELECT seq, order_id AS "orderId" FROM webhook_deliveries ORDER BY id')).rows;
  const allArrived = async (): Promise<void> => {
    const count = shop.feed.length;
    await until(async () => (await shop.sql.query(`SELECT 1 FROM webhook_deliveries WHERE state = 'delivered'`)).rowCount === count, 20_000);
    expect([...receiver.ids].sort()).toEqual(shop.feed.map(({ id }) => id));
  };
  /** Locks the watermark of webhooks. Returns a function that unlocks it. */
  const lockWatermark = async (): Promise<() => Promise<void>> => {
    const blocker: pg.PoolClient = await shop.sql.connect();
    await blocker.query('BEGIN');
    await blocker.query('SELECT 1 FROM webhook_watermark FOR UPDATE');
    return async () => {
      await blocker.query('ROLLBACK');
      blocker.release();
    };
  };

  it.each([
    ['own', 1],
    ['all', 2],
  ])('begins at once after this replica has logged events: endpoints of %s orders do not wait for a poll', async (which, owner) => {
    if (which === 'all') await shop.create(receiver.url, {}, staff(9));
    const waits: number[] = [];
    for (let n = 1; n <= 6; n++) {
      const begun = performance.now();
      shop.happen({ orderId: n, owner });
      await until(async () => (await enqueued()).some(({ seq }) => seq === n));
      waits.push(performance.now() - begun);
    }
    // A poll would come after a second on average.
    expect(waits.sort((a, b) => a - b)[3]).toBeLessThan(500);
  });

  it('does not delay logging when an endpoint’s queue is locked', async () => {
    const blocker = await shop.sql.connect();
    await blocker.query('BEGIN');
    await blocker.query('SELECT 1 FROM webhook_queues FOR UPDATE');
    shop.happen({ orderId: 1 });
    await logIs(1);
    shop.happen({ orderId: 2 });
    await logIs(2);
    expect(receiver.received).toEqual([]);
    await blocker.query('ROLLBACK');
    blocker.release();
    await allArrived();
  });

  it('covers events of a process that crashed before it enqueued their deliveries', async () => {
    shop.happenSilently({ orderId: 1 }, { orderId: 1 }, { orderId: 2 });
    await logAndCrash(shop.sql, epoch, shop.feed);
    await allArrived();
    expect(await watermarks()).toEqual([3, 3]);
  });

  it('takes several steps for many events, with gaps in their numbers', async () => {
    const unlock = await lockWatermark();
    await shop.log(1_500, 1);
    await shop.sql.query('DELETE FROM event_log WHERE seq BETWEEN 1201 AND 1400');
    expect((await watermarks())[1]).toBe(0);
    await unlock();
    await until(async () => (await watermarks())[1] === 1_500, 20_000);
    expect((await enqueued()).map(({ seq }) => seq)).toEqual(shop.feed.map(({ seq }) => seq).filter((seq) => seq <= 1_200 || seq > 1_400));
  });

  it('keeps retention from deleting events without deliveries, however old', async () => {
    const { database } = await shop.addReplica();
    const retention = new LogRetention(database!, { keepMs: 0, needs: [eventsWithoutDeliveries] }, new Registry(), createLogger('test', 'fatal'));
    shop.happen({ orderId: 1 }, { orderId: 2 });
    await allArrived();
    const unlock = await lockWatermark();
    shop.happen({ orderId: 3 }, { orderId: 4 });
    await logIs(4);
    expect(await retention.sweep()).toBe(2);
    expect(await retention.sweep()).toBe(0);
    await unlock();
    await allArrived();
    // The last event stays: the feed identifies the log by its id.
    expect(await retention.sweep()).toBe(1);
  });

  it('enqueues one delivery of an event that has two numbers before its delivery is enqueued', async () => {
    await shop.stopReplicas();
    const [event] = shop.happenSilently({ orderId: 1 });
    await logAndCrash(shop.sql, epoch, shop.feed);
    shop.happenAgain(event!);
    await logAndCrash(shop.sql, epoch, shop.feed);
    await shop.addReplica();
    await until(async () => (await watermarks())[1] === 2);
    expect(await enqueued()).toEqual([{ seq: 1, orderId: 1 }]);
  });

  it('limits a replay to events whose deliveries are enqueued: later ones are sent once', async () => {
    shop.happen({ orderId: 1 });
    await allArrived();
    const unlock = await lockWatermark();
    shop.happen({ orderId: 1 }, { orderId: 2 });
    await logIs(3);
    const replay = await shop.call(notifications.replayEvents, { webhookId: webhook.id, replay: {} }, customer(1));
    expect(replay).toEqual({ scheduled: 1 });
    await unlock();
    await until(async () => (await enqueued()).length === 4);
    expect((await enqueued()).map(({ seq }) => seq)).toEqual([1, 1, 2, 3]);
  });

  describe('of owners without an endpoint', () => {
    /** A replica that enqueues no deliveries, so that only logging can move the watermark. */
    beforeEach(async () => {
      await shop.stopReplicas();
      await shop.addReplica({}, { NOTIFICATIONS_ROLE: 'stream' });
    });

    it('is skipped: the transaction that logs the events passes them', async () => {
      shop.happen({ orderId: 1, owner: 2 }, { orderId: 2, owner: 3 });
      await logIs(2);
      expect(await watermarks()).toEqual([2, 2]);
    });

    it('is not skipped if one of the events is of an owner with an endpoint, or earlier ones have no deliveries yet', async () => {
      shop.happen({ orderId: 1, owner: 2 }, { orderId: 2 });
      await logIs(2);
      expect(await watermarks()).toEqual([2, 0]);
      shop.happen({ orderId: 3, owner: 2 });
      await logIs(3);
      expect(await watermarks()).toEqual([3, 0]);
      await shop.addReplica();
      await until(async () => (await enqueued()).length === 1);
      expect(await enqueued()).toEqual([{ seq: 2, orderId: 2 }]);
    });

    it('never makes logging wait for the lock of the watermark', async () => {
      const unlock = await lockWatermark();
      shop.happen({ orderId: 1, owner: 2 });
      await logIs(1);
      expect(await watermarks()).toEqual([1, 0]);
      await unlock();
    });

    it('is announced to webhooks replicas only if there is something to enqueue', async () => {
      const messages: boolean[] = [];
      const nats = await Nats.connect({ url: shop.nats.url, name: 'notifications' }, createLogger('test', 'fatal'));
      nats.listen('notifications.fanout', (message) => messages.push(message.json<{ needsDeliveries: boolean }>().needsDeliveries));
      await nats.connection.flush();
      shop.happen({ orderId: 1, owner: 2 });
      await until(() => messages.length === 1);
      shop.happen({ orderId: 2 });
      await until(() => messages.length === 2);
      expect(messages).toEqual([false, true]);
      await nats.close(1_000);
    });

    it('is not skipped for an endpoint of all orders', async () => {
      await shop.addReplica();
      await shop.create(receiver.url, {}, staff(9));
      shop.happen({ orderId: 1, owner: 2 });
      await until(async () => (await enqueued()).length === 1);
      expect(await watermarks()).toEqual([1, 1]);
    });
  });

  it('loses nothing when all replicas stop before they enqueued deliveries of what they had logged', async () => {
    await shop.stopReplicas();
    shop.happenSilently({ orderId: 1 }, { orderId: 1 }, { orderId: 2 });
    await logAndCrash(shop.sql, epoch, shop.feed);
    shop.happenSilently({ orderId: 1 }, { orderId: 3 });
    await shop.addReplica();
    await allArrived();
    const deliveries = await enqueued();
    expect(deliveries.filter(({ orderId }) => orderId === 1).map(({ seq }) => seq)).toEqual([1, 2, 4]);
  });
});
