import { describe, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { type Received, Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { Webhook } from 'standardwebhooks';
import { WebhookOwner } from '../webhook-owner.spec.fixture.js';
import { TestWebhooks } from '../webhooks.spec.fixture.js';

describe('secrets', () => {
  const owner = WebhookOwner.ofEachTest();
  const signedBy = (received: Received | undefined, secret: string): boolean => {
    try {
      new Webhook(secret).verify(received!.body, received!.headers);
      return true;
    } catch {
      return false;
    }
  };

  it('both sign during the grace period after a rotation, and then the new one alone', async () => {
    const { receiver } = owner;
    const { id, secret: old } = await owner.create();
    const { secret, previousUntil } = await owner.rotate(id, 3_600);
    expect(Math.abs(Date.parse(previousUntil) - Date.now() - 3_600_000)).toBeLessThan(10_000);
    owner.happen({ orderId: 1 });
    await until(() => receiver.received.length === 1);
    expect([old, secret].map((one) => signedBy(receiver.received[0], one))).toEqual([true, true]);
    await owner.shop.sql.query(`UPDATE webhook_secrets SET ends_at = now() WHERE webhook_id = $1 AND ends_at <> 'infinity'`, [id]);
    owner.happen({ orderId: 2 });
    await until(() => receiver.received.length === 2);
    expect([old, secret].map((one) => signedBy(receiver.received[1], one))).toEqual([false, true]);
  });

  it('end at once without a grace period, and at most two sign', async () => {
    const { receiver } = owner;
    const { id, secret: first } = await owner.create();
    const second = await owner.rotate(id, 3_600);
    const third = await owner.rotate(id, 3_600);
    owner.happen({ orderId: 1 });
    await until(() => receiver.received.length === 1);
    expect([first, second.secret, third.secret].map((one) => signedBy(receiver.received[0], one))).toEqual([false, true, true]);
    const fourth = await owner.rotate(id, 0);
    owner.happen({ orderId: 2 });
    await until(() => receiver.received.length === 2);
    expect([second.secret, third.secret, fourth.secret].map((one) => signedBy(receiver.received[1], one))).toEqual([false, false, true]);
  });

  it('have a grace period of a day by default, and are rotated once per Idempotency-Key', async () => {
    const { id } = await owner.create();
    const [rotated, again] = await owner.twice(notifications.rotateWebhookSecret, { webhookId: id, rotation: {} });
    expect(again).toEqual(rotated);
    expect(Math.abs(Date.parse(rotated!.previousUntil) - Date.now() - 86_400_000)).toBeLessThan(10_000);
  });

  it('are stored nowhere in plain text', async () => {
    const { id, secret } = await owner.create();
    const { secret: second } = await owner.rotate(id);
    const tables = ['webhooks', 'webhook_secrets', 'webhook_queues', 'webhook_deliveries', 'idempotency_keys'];
    const rows = await Promise.all(tables.map((table) => owner.shop.sql.query<{ all: string }>(`SELECT json_agg(t)::text AS all FROM ${table} t`)));
    const dump = rows.map((one) => one.rows[0]!.all).join('\n');
    expect(dump).toContain(id);
    for (const one of [secret, second]) {
      const bytes = Buffer.from(one.slice('whsec_'.length), 'base64');
      for (const form of [one.slice(6), bytes.toString('hex'), bytes.toString('base64'), Buffer.from(one).toString('base64').slice(0, 40)]) {
        expect(dump).not.toContain(form);
      }
    }
  });
});

describe('secrets under a new key', () => {
  it('are re-encrypted, and then the former key can be removed (slow)', async () => {
    const [former, present] = ['the former secret of 32 characters and more', 'the present secret of 32 characters and more'];
    const shop = await TestWebhooks.start({ replicas: 0 });
    const receiver = await Receiver.start();
    await shop.addReplica({}, { NOTIFICATIONS_SECRET: former });
    const { secret } = await shop.create(receiver.url);
    const [before] = (await shop.sql.query<{ key_id: string }>('SELECT key_id FROM webhook_secrets')).rows;
    await shop.stopReplicas();
    await shop.addReplica({}, { NOTIFICATIONS_SECRET: `${present}, ${former}` });
    const keys = async (): Promise<number | null> => (await shop.sql.query('SELECT DISTINCT key_id FROM webhook_secrets')).rowCount;
    await shop.create(receiver.url);
    await until(async () => (await keys()) === 1);
    await until(async () => (await shop.sql.query('SELECT 1 FROM webhook_secrets WHERE key_id = $1', [before!.key_id])).rowCount === 0);
    await shop.stopReplicas();
    await shop.addReplica({}, { NOTIFICATIONS_SECRET: present });
    const [event] = shop.happen({ orderId: 1 });
    await until(() => receiver.received.length === 2);
    const verified = receiver.received.flatMap(({ body, headers }) => {
      try {
        return [new Webhook(secret).verify(body, headers)];
      } catch {
        return [];
      }
    });
    expect(verified).toEqual([JSON.parse(event!.body)]);
    await shop.stop();
    await receiver.stop();
  });
});
