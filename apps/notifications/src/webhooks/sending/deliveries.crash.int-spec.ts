import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { atEveryPoint, type CrashTestbed, crashTestTimeoutMs } from '@plant-shop/service-testing/crash/every-point';
import { injectHttpFaults } from '@plant-shop/service-testing/crash/http';
import type { CrashableReplica } from '@plant-shop/service-testing/crash/replica';
import { Run } from '@plant-shop/service-testing/crash/run';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { Agent } from 'undici';
import { FeedFollower } from '../../event-flow.js';
import { LogTail } from '../../log/log-tail.js';
import { OwnerSync } from '../endpoints/owner-sync.js';
import { AllOrdersEnqueuer, OwnOrdersEnqueuer } from '../queue/enqueuers.js';
import { customer, staff, TestWebhooks } from '../webhooks.spec.fixture.js';
import { DeliveryWorker } from './delivery-worker.js';

const attemptLimitMs = 300;
/** Retries follow after 20 ms. */
const timeScale = 0.004;
const limits = { inFlight: 16, perSecond: 10_000, silentAttempts: 1_000, pauseMs: 20, longestPauseMs: 20 };

describe.each([
  { sees: 'own orders', role: 'both', principal: customer(1), enqueuer: OwnOrdersEnqueuer },
  { sees: 'all orders', role: 'both', principal: staff(1), enqueuer: AllOrdersEnqueuer },
  { sees: 'own orders', role: 'webhooks', principal: customer(1), enqueuer: OwnOrdersEnqueuer },
])('when replicas of the role $role crash or lose connections at any point, with an endpoint that sees $sees', ({ role, principal, enqueuer }) => {
  let shop: TestWebhooks;
  let stage: CrashTestbed;
  let receiver: Receiver;
  let settleHttp: () => void;
  let orders = 0;
  beforeAll(async () => {
    settleHttp = injectHttpFaults(Agent);
    receiver = await Receiver.start();
    shop = await TestWebhooks.start({ replicas: 0 });
    stage = await shop.crashStage({ timeScale, attemptLimitMs, leaseMs: 1_000, limits }, { NOTIFICATIONS_ROLE: role });
    await shop.create(receiver.url, {}, principal);
  });
  afterAll(async () => {
    await stage.stop();
    await shop.stop();
    await receiver.stop();
    settleHttp();
  });
  afterEach(async () => {
    const rows = await shop.sql.query(`SELECT 1 FROM webhook_deliveries WHERE state <> 'delivered' OR lease IS NOT NULL`);
    expect([rows.rowCount, (await shop.sql.query('SELECT 1 FROM webhook_lanes')).rowCount]).toEqual([0, 0]);
  });

  /** Expects the log to equal the feed, one delivery for each event, and all of them sent unchanged. */
  async function expectAllDelivered(): Promise<void> {
    // Ends leases and pauses, as time would.
    await shop.sql.query(`UPDATE webhook_deliveries SET due_at = now() WHERE due_at IS NOT NULL`);
    await shop.sql.query('UPDATE webhook_queues SET turn_at = now(), paused_until = now()');
    shop.publish([]);
    stage.survivor.app.get<BackgroundLoop>(enqueuer).notify();
    stage.survivor.app.get(DeliveryWorker).notify();
    const count = shop.feed.length;
    await until(async () => {
      const { rowCount } = await shop.sql.query(`SELECT 1 FROM webhook_deliveries WHERE state = 'delivered'`);
      return rowCount === count;
    });
    const { rows: logged } = await shop.sql.query('SELECT seq, event_id AS id, subject, body FROM event_log ORDER BY seq');
    expect(logged.map((one: { seq: string }) => ({ ...one, seq: Number(one.seq) }))).toEqual(shop.feed);
    expect((await shop.sql.query('SELECT watermark FROM feed_watermark')).rows.map(({ watermark }) => Number(watermark))).toEqual([count]);
    const { rows } = await shop.sql.query('SELECT event_id AS id FROM webhook_deliveries ORDER BY seq');
    expect(rows.map(({ id }: { id: string }) => id)).toEqual(shop.feed.map(({ id }) => id));
    const sent = new Map(receiver.received.map(({ headers, body }) => [headers['webhook-id'], body]));
    expect(sent.size).toBe(count);
    for (const { headers, body } of receiver.received) expect(body).toBe(sent.get(headers['webhook-id']));
    for (const { id, body } of shop.feed) expect(sent.get(id)).toBe(body);
  }

  /** Adds two events of one order: the second is sent after the first. */
  const happen = (): Promise<unknown> => {
    const orderId = ++orders;
    return Promise.resolve(shop.happenSilently({ orderId }, { orderId, newStatus: 'delivered' }));
  };
  const nothing = (): Promise<void> => Promise.resolve();
  const logged = ({ app }: CrashableReplica): Promise<unknown> => new Run().within(() => app.get(FeedFollower).follower.run());

  // Logging does not depend on what the endpoint sees.
  if (enqueuer === OwnOrdersEnqueuer) it('an event is logged once, in sequence', async () => {
    await atEveryPoint(stage, {
      name: 'ingest events',
      minCalls: 9,
      given: nothing,
      makeDue: happen,
      when: async ({ app }) => {
        // A replica publishes only events that adjoin its ring.
        if (role === 'both') await new Run().within(() => app.get(LogTail).readToEnd());
        await app.get(FeedFollower).follower.run();
      },
      eventually: expectAllDelivered,
    });
  }, crashTestTimeoutMs);

  // The role decides only what else the replica does: these two make the same calls at the same points in both.
  if (role === 'both') it('a logged event gets one delivery, in sequence', async () => {
    await atEveryPoint(stage, {
      name: 'enqueue deliveries',
      minCalls: 6,
      given: nothing,
      makeDue: happen,
      when: async (victim) => {
        await logged(victim);
        await victim.app.get<BackgroundLoop>(enqueuer).run();
      },
      eventually: expectAllDelivered,
    });
  }, crashTestTimeoutMs);

  // Sending does not depend on what the endpoint sees.
  if (role === 'both' && enqueuer === OwnOrdersEnqueuer) it('a webhook is sent at least once, with the same id and bytes', async () => {
    await atEveryPoint(stage, {
      name: 'deliver a webhook',
      minCalls: 10,
      given: nothing,
      makeDue: happen,
      when: async (victim) => {
        await logged(victim);
        await new Run().within(() => victim.app.get<BackgroundLoop>(enqueuer).run());
        // The victim's background work is paused.
        const owners = victim.app.get(OwnerSync);
        if (!owners.isReady) await new Run().within(() => owners.run());
        const worker = victim.app.get(DeliveryWorker);
        await worker.claimAndSend();
        await until(() => worker.isIdle);
      },
      eventually: expectAllDelivered,
    });
  }, crashTestTimeoutMs);
});
