import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { notifications, type Replay, type Webhook } from '@plant-shop/contracts/notifications';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { customer, staff, TestWebhooks } from '../webhooks.spec.fixture.js';

describe('deliveries that wait', () => {
  let shop: TestWebhooks;
  let receiver: Receiver;
  beforeEach(async () => {
    // Retries follow after hours.
    shop = await TestWebhooks.start({ pending: { perEndpoint: 5, perOwner: 8 } });
    receiver = await Receiver.start();
    receiver.answer = (_received, response) => response.writeHead(500).end();
  });
  afterEach(async () => {
    await receiver.stop();
    await shop.stop();
  });

  const replay = (webhookId: string): Promise<Replay> => shop.call(notifications.replayEvents, { webhookId, replay: {} }, customer(1));
  const isBehind = async (webhookId: string, as = customer(1)): Promise<boolean> => {
    const [read, listed] = await Promise.all([
      shop.call(notifications.getWebhook, { webhookId }, as),
      shop.call(notifications.listWebhooks, {}, as),
    ]);
    expect(listed.find((one: Webhook) => one.id === webhookId)?.behind).toBe(read.behind);
    return read.behind ?? false;
  };
  const enqueued = async (count: number): Promise<void> => {
    shop.happen(...Array.from({ length: count }, (_, n) => ({ orderId: n + 1 })));
    await until(async () => (await shop.sql.query('SELECT 1 FROM feed_watermark WHERE watermark = $1', [shop.feed.length])).rowCount === 1);
    await shop.webhooksHaveFollowed();
  };

  it('are limited for an endpoint and for its owner, except for events of orders (slow)', async () => {
    await enqueued(4);
    const [first, second, third] = [await shop.create(receiver.url), await shop.create(receiver.url), await shop.create(receiver.url)];
    for (const { id } of [first, second, third]) await shop.replace({ ...first, id }, { state: 'disabled' });
    expect(await replay(first.id)).toEqual({ scheduled: 4 });
    expect(await isBehind(first.id)).toBe(false);
    await enqueued(1);
    const full = { code: 'too-many-deliveries', details: { waiting: 5, retryAfter: 10 } };
    await expect(replay(first.id)).rejects.toMatchObject(full);
    expect(await isBehind(first.id)).toBe(true);
    // One live event for each, and four of the replay: one of eight is left for the owner.
    expect(await replay(second.id)).toEqual({ scheduled: 1, cursor: expect.any(String) });
    await expect(replay(third.id)).rejects.toMatchObject({ code: 'too-many-deliveries', details: { waiting: 8 } });
    await shop.replace(third, { state: 'enabled' });
    await expect(shop.call(notifications.testWebhook, { webhookId: third.id }, customer(1))).rejects.toMatchObject({ code: 'too-many-deliveries' });
    const [delivery] = await shop.deliveries(third);
    await expect(shop.call(notifications.resendDelivery, { webhookId: third.id, deliveryId: delivery!.id }, customer(1))).rejects.toMatchObject({ code: 'too-many-deliveries' });
    await enqueued(3);
    expect(await shop.deliveries(first)).toHaveLength(8);
    // Others are not concerned.
    const other = await shop.create(receiver.url, {}, customer(2));
    await shop.call(notifications.testWebhook, { webhookId: other.id }, customer(2));
  });

  it('are counted together if replays of several endpoints arrive at the same time (slow)', async () => {
    await enqueued(4);
    const webhooks = await Promise.all(Array.from({ length: 6 }, () => shop.create(receiver.url)));
    const results = await Promise.allSettled(webhooks.map(({ id }) => replay(id)));
    const scheduled = results.map((one) => (one.status === 'fulfilled' ? one.value.scheduled : 0));
    expect(scheduled.reduce((sum, one) => sum + one, 0)).toBe(8);
  });

  it('of others are sent while many replays of one owner wait for each other (slow)', async () => {
    await enqueued(1);
    receiver.answer = (_received, response) => response.writeHead(204).end();
    const [webhook, other] = await Promise.all([shop.create(receiver.url), shop.create(receiver.url, {}, customer(2))]);
    await shop.sql.query('BEGIN');
    await shop.sql.query(`SELECT pg_advisory_xact_lock(hashtext('deliveries of'), hashtext($1))`, [customer(1).subject]);
    const replays = Array.from({ length: 30 }, () => replay(webhook.id).then(() => 'ok', (error: unknown) => (error as { code: string }).code));
    await shop.call(notifications.testWebhook, { webhookId: other.id }, customer(2));
    await until(() => receiver.received.length === 1);
    await shop.sql.query('COMMIT');
    expect(new Set(await Promise.all(replays))).toEqual(new Set(['ok', 'replay-in-progress']));
  });

  it('in the log make an endpoint of all orders behind (slow)', async () => {
    const webhook = await shop.create(receiver.url, {}, staff(2));
    expect(await isBehind(webhook.id, staff(2))).toBe(false);
    await shop.stopReplicas();
    await shop.sql.query('UPDATE feed_watermark SET watermark = 5');
    await shop.sql.query(`UPDATE webhook_cursors SET look_at = 'infinity'`);
    await shop.addReplica({ pending: { perEndpoint: 5, perOwner: 8 } });
    expect(await isBehind(webhook.id, staff(2))).toBe(true);
  });
});
