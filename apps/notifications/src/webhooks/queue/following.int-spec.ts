import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { createLogger } from '@plant-shop/platform/logging';
import { until } from '@plant-shop/testing/until';
import type pg from 'pg';
import { Registry } from 'prom-client';
import { EventLogRetention } from '../../log/event-log-retention.js';
import type { NotificationsOptions } from '../../options.js';
import { undeliveredEvents } from '../../wiring.js';
import { logAndDie, logAsBefore } from '../release-before.spec.fixture.js';
import { customer, Receiver, TestWebhooks } from '../webhooks.spec.fixture.js';

interface StepResult {
  readonly seq: number;
  readonly orderId: number;
}

describe('webhooks, which follow the log', () => {
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
  /** In the order in which they are sent, as far as an order's are. */
  const made = async (): Promise<StepResult[]> =>
    (await shop.sql.query<StepResult>('SELECT seq, order_id AS "orderId" FROM webhook_deliveries ORDER BY id')).rows;
  const allArrived = async (): Promise<void> => {
    const count = shop.feed.length;
    await until(async () => (await shop.sql.query(`SELECT 1 FROM webhook_deliveries WHERE state = 'delivered'`)).rowCount === count, 20_000);
    expect([...receiver.ids].sort()).toEqual(shop.feed.map(({ id }) => id));
  };
  /** Whoever locks the watermark of webhooks waits. @returns what ends that */
  const holdBack = async (): Promise<() => Promise<void>> => {
    const blocker: pg.PoolClient = await shop.sql.connect();
    await blocker.query('BEGIN');
    await blocker.query('SELECT 1 FROM webhook_watermark FOR UPDATE');
    return async () => {
      await blocker.query('ROLLBACK');
      blocker.release();
    };
  };

  it('keep nobody waiting for the log who is not theirs: an endpoint’s queue is locked, and events go on being logged', async () => {
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

  it('get what a process had logged that died before it made deliveries of it', async () => {
    shop.happenUnheard({ orderId: 1 }, { orderId: 1 }, { orderId: 2 });
    await logAndDie(shop.sql, shop.feed);
    await allArrived();
    expect(await watermarks()).toEqual([3, 3]);
  });

  it('catch up with more events than one step makes deliveries of, whatever numbers are left out among them', async () => {
    const letGo = await holdBack();
    await shop.log(1_500, 1);
    await shop.sql.query('DELETE FROM event_log WHERE seq BETWEEN 1201 AND 1400');
    expect((await watermarks())[1]).toBe(0);
    await letGo();
    await until(async () => (await watermarks())[1] === 1_500, 20_000);
    expect((await made()).map(({ seq }) => seq)).toEqual(shop.feed.map(({ seq }) => seq).filter((seq) => seq <= 1_200 || seq > 1_400));
  });

  it('need the events that they have not passed: the log keeps them, however old', async () => {
    const { database } = await shop.addReplica();
    const options = { eventLog: { keepMs: 0 } } as NotificationsOptions;
    const retention = new EventLogRetention(database!, new Registry(), options, createLogger('test', 'fatal'), [undeliveredEvents]);
    shop.happen({ orderId: 1 }, { orderId: 2 });
    await allArrived();
    const letGo = await holdBack();
    shop.happen({ orderId: 3 }, { orderId: 4 });
    await logIs(4);
    expect(await retention.sweep()).toBe(2);
    expect(await retention.sweep()).toBe(0);
    await letGo();
    await allArrived();
    // The last one stays: by its id the feed recognises the log.
    expect(await retention.sweep()).toBe(1);
  });

  it('send an event once that came under two numbers before any delivery of it was made', async () => {
    await shop.stopReplicas();
    const [event] = shop.happenUnheard({ orderId: 1 });
    await logAndDie(shop.sql, shop.feed);
    shop.happenAgain(event!);
    await logAndDie(shop.sql, shop.feed);
    await shop.addReplica();
    await until(async () => (await watermarks())[1] === 2);
    expect(await made()).toEqual([{ seq: 1, orderId: 1 }]);
  });

  it('are replayed up to where they are, and what is still to come comes once', async () => {
    shop.happen({ orderId: 1 });
    await allArrived();
    const letGo = await holdBack();
    shop.happen({ orderId: 1 }, { orderId: 2 });
    await logIs(3);
    const replay = await shop.call(notifications.replayEvents, { webhookId: webhook.id, replay: {} }, customer(1));
    expect(replay).toEqual({ scheduled: 1 });
    await letGo();
    await until(async () => (await made()).length === 4);
    expect((await made()).map(({ seq }) => seq)).toEqual([1, 1, 2, 3]);
  });

  describe('beside processes of the release before, which make deliveries of what they log as they log it', () => {
    it('have each delivery once, in the order of its order, when those log what follows on what one of today had logged', async () => {
      const letGo = await holdBack();
      shop.happen({ orderId: 1 }, { orderId: 2 }, { orderId: 1 });
      await logIs(3);
      shop.happen({ orderId: 1 }, { orderId: 2 });
      await logIs(5);
      shop.happenUnheard({ orderId: 1 }, { orderId: 3 }, { orderId: 2 });
      const logging = logAsBefore(shop.sql, shop.feed, 2);
      await letGo();
      await logging;
      while ((await logAsBefore(shop.sql, shop.feed, 1)) > 0);
      await until(async () => (await watermarks())[1] === 8);
      expect((await made()).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      await allArrived();
    });

    it('lose nothing when all of today are gone before they made deliveries of what they had logged', async () => {
      await shop.stopReplicas();
      shop.happenUnheard({ orderId: 1 }, { orderId: 1 }, { orderId: 2 });
      await logAndDie(shop.sql, shop.feed);
      shop.happenUnheard({ orderId: 1 }, { orderId: 3 });
      await logAsBefore(shop.sql, shop.feed, 10);
      expect((await made()).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
      expect(await watermarks()).toEqual([5, 5]);
      const { rows } = await shop.sql.query<StepResult>('SELECT seq FROM webhook_deliveries WHERE due_at IS NOT NULL ORDER BY id');
      // The first of each order, and the endpoint's turn has come.
      expect(rows.map(({ seq }) => seq)).toEqual([1, 3, 5]);
      expect((await shop.sql.query('SELECT 1 FROM webhook_queues WHERE turn_at <= now()')).rowCount).toBe(1);
      await shop.addReplica();
      await allArrived();
    });

    it('have each delivery once, in the order of its order, whoever logs what', async () => {
      await shop.addReplica();
      const rounds = 60;
      let isOver = false;
      const before = (async () => {
        let logged = 0;
        while (!isOver) logged += await logAsBefore(shop.sql, shop.feed, 3);
        return logged;
      })();
      const holding = (async () => {
        while (!isOver) {
          const letGo = await holdBack();
          await new Promise((resolve) => setTimeout(resolve, 10));
          await letGo();
        }
      })();
      for (let n = 0; n < rounds; n++) {
        shop.happen(...Array.from({ length: 5 }, (_, i) => ({ orderId: 1 + ((n + i) % 7) })));
        await new Promise((resolve) => setTimeout(resolve, n % 3 === 0 ? 20 : 2));
      }
      await logIs(rounds * 5);
      isOver = true;
      await holding;
      const ofTheReleaseBefore = await before;
      expect(ofTheReleaseBefore).toBeGreaterThan(0);
      expect(ofTheReleaseBefore).toBeLessThan(rounds * 5);
      await until(async () => (await watermarks())[1] === rounds * 5);
      const deliveries = await made();
      expect(deliveries.map(({ seq }) => seq).sort((a, b) => a - b)).toEqual(shop.feed.map(({ seq }) => seq));
      for (let order = 1; order <= 7; order++) {
        const seqs = deliveries.filter(({ orderId }) => orderId === order).map(({ seq }) => seq);
        expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
      }
      await allArrived();
    }, 60_000);
  });
});
