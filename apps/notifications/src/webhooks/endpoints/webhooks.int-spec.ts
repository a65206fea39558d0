import { describe, expect, it } from '@jest/globals';
import { type ListWebhooks, notifications, type Webhook } from '@plant-shop/contracts/notifications';
import type { Principal } from '@plant-shop/platform/rpc/context';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import { contextFor } from '@plant-shop/service-testing/service';
import { sampleOf, shapeOf } from '@plant-shop/service-testing/samples';
import { until } from '@plant-shop/testing/until';
import { WebhookOwner } from '../webhook-owner.spec.fixture.js';
import { customer, staff, TestWebhooks } from '../webhooks.spec.fixture.js';

const unknown = '00000000-0000-4000-8000-00000000abcd';

describe('endpoints', () => {
  const owner = WebhookOwner.ofEachTest();

  it('are read and listed as they were created, newest first, without the secret', async () => {
    const { secret, ...first } = await owner.create({ name: ' Warehouse ', orderId: 5, plantId: 7, newStatuses: ['approved', 'cancelled'] });
    expect(first).toMatchObject({ name: 'Warehouse', newStatuses: ['approved', 'cancelled'] });
    const { secret: another, ...second } = await owner.create();
    expect(secret).not.toBe(another);
    expect(await owner.get(first.id)).toEqual(first);
    expect(await owner.call(notifications.listWebhooks, {})).toEqual([second, first]);
    expect(await owner.call(notifications.listWebhooks, { limit: 1 })).toEqual([second]);
  });

  it('are replaced completely, and only at the version that was read', async () => {
    const webhook = await owner.create({ name: 'Old', orderId: 5, plantId: 7, newStatuses: ['approved'], description: 'Old' });
    const replaced = await owner.replace(webhook, { plantId: 8 });
    expect(replaced).toEqual({ id: webhook.id, url: webhook.url, eventTypes: webhook.eventTypes, plantId: 8, state: 'enabled', createdAt: webhook.createdAt });
    const input = { url: webhook.url, eventTypes: [...webhook.eventTypes] };
    await expect(
      owner.call(notifications.replaceWebhook, { webhookId: webhook.id, webhook: input, ifVersion: 1 }),
    ).rejects.toMatchObject({ code: 'precondition-failed' });
    await expect(owner.call(notifications.deleteWebhook, { webhookId: webhook.id, ifVersion: 1 })).rejects.toMatchObject({ code: 'precondition-failed' });
    expect(await owner.call(notifications.deleteWebhook, { webhookId: webhook.id, ifVersion: 2 })).toEqual({ id: webhook.id });
  });

  it('are refused with forbidden URLs, and the reason', async () => {
    const urls = ['http://10.0.0.1/', 'https://metadata.google.internal/', 'http://user:secret@127.0.0.1/', 'http://169.254.169.254/latest'];
    const webhook = await owner.create();
    for (const url of urls) {
      const refusal = { code: 'invalid-input', details: { errors: [{ pointer: '/webhook/url', detail: expect.stringMatching(/^must not/) }] } };
      await expect(owner.shop.create(url, {}, owner.principal)).rejects.toMatchObject(refusal);
      await expect(owner.replace(webhook, { url })).rejects.toMatchObject(refusal);
    }
  });

  it('are accessible to their owner only', async () => {
    const { shop } = owner;
    const { id: webhookId } = await owner.create();
    const reads = (as: Principal) => [
      owner.get(webhookId, as),
      shop.call(notifications.listDeliveries, { webhookId }, as),
      shop.call(notifications.getDelivery, { webhookId, deliveryId: 1 }, as),
      shop.call(notifications.previewReplay, { webhookId }, as),
    ];
    const uses = (as: Principal) => [
      shop.call(notifications.replaceWebhook, { webhookId, webhook: { url: owner.receiver.url, eventTypes: ['order.status_changed'] } }, as),
      shop.call(notifications.deleteWebhook, { webhookId }, as),
      shop.call(notifications.rotateWebhookSecret, { webhookId, rotation: {} }, as),
      shop.call(notifications.testWebhook, { webhookId }, as),
      shop.call(notifications.resendDelivery, { webhookId, deliveryId: 1 }, as),
      shop.call(notifications.replayEvents, { webhookId, replay: {} }, as),
    ];
    const stranger = { ...customer(997), permissions: ['webhooks', 'read:orders'] };
    await Promise.all([owner.get(unknown), ...reads(stranger), ...uses(stranger)].map((one) => expect(one).rejects.toMatchObject({ code: 'webhook-not-found' })));
    await Promise.all(uses(staff(998)).map((one) => expect(one).rejects.toMatchObject({ code: 'forbidden' })));
  });

  it('of others are listed and read with manage:orders, with the names of their owners', async () => {
    const { shop, no, principal } = owner;
    const manager = { ...customer(999), permissions: ['webhooks', 'manage:orders'] };
    const stranger = { ...customer(997), permissions: ['webhooks', 'read:orders'] };
    const { id } = await owner.create();
    const webhook = await owner.get(id);
    const named = { ...webhook, owner: `user-${no}` };
    expect(await owner.get(webhook.id, manager)).toEqual(named);
    const list = (query: ListWebhooks, as: Principal = manager): Promise<Webhook[]> => shop.call(notifications.listWebhooks, query, as);
    expect(await list({})).toEqual([]);
    expect(await list({ owner: `user-${no}` })).toEqual([named]);
    expect(await list({ owner: `user-${no}` }, principal)).toEqual([named]);
    expect(await list({ owner: '*', limit: 1 })).toEqual([named]);
    expect((await list({ owner: '*' })).every((one) => one.owner !== undefined)).toBe(true);
    await expect(list({ owner: 'nobody' })).rejects.toMatchObject({ code: 'user-not-found' });
    for (const whose of ['*', `user-${no}`]) await expect(list({ owner: whose }, stranger)).rejects.toMatchObject({ code: 'forbidden' });
    await owner.call(notifications.testWebhook, { webhookId: webhook.id });
    await owner.allEnded(webhook, 1);
    const [delivery] = await owner.deliveries(webhook);
    expect(await shop.deliveries(webhook, manager)).toEqual([delivery]);
    expect(await shop.call(notifications.getDelivery, { webhookId: webhook.id, deliveryId: delivery!.id }, manager)).toMatchObject({ request: { body: expect.stringContaining('webhook.test') } });
  });

  it('are listed by whether they fail', async () => {
    const list = async (failing: boolean): Promise<string[]> => (await owner.call(notifications.listWebhooks, { failing })).map(({ id }) => id);
    const [good, bad, off] = [await owner.create(), await owner.create({ url: 'http://127.0.0.1:9/' }), await owner.create()];
    await owner.replace(off, { state: 'disabled' });
    await owner.call(notifications.testWebhook, { webhookId: good.id });
    await owner.call(notifications.testWebhook, { webhookId: bad.id });
    await until(async () => (await list(true)).length > 0);
    expect(await list(true)).toEqual([bad.id]);
    expect(await list(false)).toEqual([off.id, good.id]);
    // It is not tried while it is disabled; by its owner, so it does not fail.
    await owner.replace(bad, { url: bad.url, state: 'disabled' });
    expect(await list(true)).toEqual([]);
    owner.receiver.answerWith(410);
    await owner.call(notifications.testWebhook, { webhookId: good.id });
    await until(async () => (await owner.get(good.id)).state === 'disabled');
    expect(await list(true)).toEqual([good.id]);
  });

  it('need the permission webhooks', async () => {
    const { shop } = owner;
    const { id: webhookId } = await owner.create();
    const without = { ...owner.principal, permissions: ['write:orders', 'read:orders'] };
    const calls = [
      shop.create(owner.receiver.url, {}, without),
      shop.call(notifications.listWebhooks, {}, without),
      owner.get(webhookId, without),
      shop.call(notifications.replaceWebhook, { webhookId, webhook: { url: owner.receiver.url, eventTypes: ['order.status_changed'] } }, without),
      shop.call(notifications.deleteWebhook, { webhookId }, without),
      shop.call(notifications.rotateWebhookSecret, { webhookId, rotation: {} }, without),
      shop.call(notifications.testWebhook, { webhookId }, without),
      shop.call(notifications.listDeliveries, { webhookId }, without),
      shop.call(notifications.getDelivery, { webhookId, deliveryId: 1 }, without),
      shop.call(notifications.resendDelivery, { webhookId, deliveryId: 1 }, without),
      shop.call(notifications.replayEvents, { webhookId, replay: {} }, without),
    ];
    await Promise.all(calls.map((one) => expect(one).rejects.toMatchObject({ code: 'forbidden' })));
  });

  it('made for all orders are replaced only with read:orders, since their events would go to the new URL', async () => {
    const broad = { ...owner.principal, permissions: ['webhooks', 'read:orders'] };
    const narrow = { ...owner.principal, permissions: ['webhooks'] };
    const { id: webhookId } = await owner.shop.create(owner.receiver.url, {}, broad);
    const webhook = { url: owner.receiver.url, eventTypes: ['order.status_changed' as const] };
    await expect(owner.shop.call(notifications.replaceWebhook, { webhookId, webhook }, narrow)).rejects.toMatchObject({ code: 'forbidden' });
    await owner.shop.call(notifications.replaceWebhook, { webhookId, webhook }, broad);
    await owner.shop.call(notifications.deleteWebhook, { webhookId }, narrow);
    const own = await owner.shop.create(owner.receiver.url, {}, narrow);
    await owner.shop.call(notifications.replaceWebhook, { webhookId: own.id, webhook }, narrow);
  });

  it('are limited per user, also when they are created concurrently', async () => {
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => owner.create()));
    const codes = results.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as { code: string }).code));
    expect(codes.sort()).toEqual(['ok', 'ok', 'ok', ...Array<string>(5).fill('too-many-webhooks')]);
    const [one] = await owner.call(notifications.listWebhooks, {});
    await owner.call(notifications.deleteWebhook, { webhookId: one!.id });
    await owner.create();
  });

  it('are created once per Idempotency-Key, and the repeated answer has the secret', async () => {
    const webhook = { url: owner.receiver.url, eventTypes: ['order.status_changed' as const] };
    const [made, again] = await owner.twice(notifications.createWebhook, { webhook });
    expect(again).toEqual(made);
    expect(await owner.call(notifications.listWebhooks, {})).toHaveLength(1);
  });

  it('have answers in the shapes of the contract’s samples', async () => {
    const same = <Payload, Answer>(operation: Operation<Payload, Answer>, answer: Answer): void => {
      expect([operation.name, shapeOf(answer)]).toEqual([operation.name, shapeOf(sampleOf(operation).answer)]);
    };
    const webhook = await owner.create({ name: 'Warehouse', plantId: 7, newStatuses: ['approved'], description: 'To the warehouse' });
    same(notifications.createWebhook, webhook);
    same(notifications.getWebhook, await owner.get(webhook.id));
    same(notifications.rotateWebhookSecret, await owner.rotate(webhook.id));
    same(notifications.testWebhook, await owner.call(notifications.testWebhook, { webhookId: webhook.id }));
    owner.happen({ orderId: 1 });
    await owner.allEnded(webhook, 2);
    same(notifications.resendDelivery, await owner.resend(webhook.id, (await owner.deliveries(webhook))[0]!.id));
    same(notifications.deleteWebhook, await owner.call(notifications.deleteWebhook, { webhookId: webhook.id }));
  });
});

describe('the answer to a repeated creation', () => {
  it('is that of the first, even if the target is no longer allowed (slow)', async () => {
    const shop = await TestWebhooks.start();
    try {
      const create = async () => {
        const webhook = { url: 'http://127.0.0.1:9/hook', eventTypes: ['order.status_changed' as const] };
        const { payload, replayed } = await shop.caller.client.callRaw(notifications.createWebhook, { webhook }, contextFor(customer(1)), 'key');
        return { answer: JSON.parse(Buffer.from(payload).toString()) as unknown, replayed };
      };
      const { answer } = await create();
      await shop.stopReplicas();
      await shop.addReplica({}, { WEBHOOK_ALLOWED_TARGETS: '' });
      await expect(shop.create('http://127.0.0.1:9/hook')).rejects.toMatchObject({ code: 'invalid-input' });
      expect(await create()).toEqual({ answer, replayed: true });
    } finally {
      await shop.stop();
    }
  });
});
