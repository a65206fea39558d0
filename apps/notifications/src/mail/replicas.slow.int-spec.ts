import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { until } from '@plant-shop/testing/until';
import { admin, mailOf, recipientNo, TestMail } from './mail.spec.fixture.js';

describe('several replicas', () => {
  let test: TestMail;
  beforeEach(async () => {
    test = await TestMail.start({ replicas: 0 });
  });
  afterEach(() => test.stop());

  it('share the mails: each is sent once, also while one of them stops', async () => {
    await test.addReplica();
    await test.accept([], Array.from({ length: 20 }, (_, n) => recipientNo(n + 1)));
    const orders = Array.from({ length: 20 }, (_, n) => ({ orderId: n + 1, owner: n + 1 }));
    await test.addReplica({ atOnce: 2 });
    test.smtp.onRecipient = () => new Promise((resolve) => setTimeout(resolve, 10));
    test.shop.happen(...orders.map((one) => ({ ...one, type: 'order.placed' as const })), ...orders.map((one) => ({ ...one, newStatus: 'approved' })));
    await test.accept(Array.from({ length: 60 }, (_, n) => mailOf(n + 100)));
    await until(() => test.smtp.received.length > 20);
    await test.shop.stopReplicas();
    expect(test.smtp.received.length).toBeLessThan(100);
    await test.addReplica();
    await until(() => new Set(test.smtp.received.map(({ mail: { messageId } }) => messageId)).size === 100);
    await until(async () => (await test.list({ state: 'sent' })).length === 100);
    expect(test.smtp.received).toHaveLength(100);
    for (const { owner, orderId } of orders) {
      expect(test.smtp.to(`user-${owner}@plants.test`).map(({ mail: { subject } }) => subject)).toEqual([`We have your order ${orderId}`, `Your order ${orderId} is paid`]);
    }
  }, 60_000);

  it('a mail that the server took, from a replica that lost the database before it noted that, is sent again by another with the same Message-ID', async () => {
    await test.addReplica({}, { NOTIFICATIONS_ROLE: 'webhooks' });
    const network = await test.shop.addDistantReplica({}, { ...test.variables, NOTIFICATIONS_ROLE: 'mail' }, { leaseMs: 2_000, attemptLimitMs: 1_000 });
    const mail = mailOf(1);
    test.smtp.onMail = async () => {
      test.smtp.onMail = () => undefined;
      await network.postgres.cut();
    };
    await test.accept([mail]);
    await until(() => test.smtp.received.length === 1);
    await test.addReplica();
    await test.has(mail.id, 'sent');
    expect(test.smtp.received.map(({ mail: { messageId } }) => messageId)).toEqual([`<${mail.id}@plants.test>`, `<${mail.id}@plants.test>`]);
    await network.postgres.restore();
  }, 60_000);

  it('a server that answers too late fails the attempt, not the mail', async () => {
    await test.addReplica({ attemptLimitMs: 1_600, leaseMs: 4_000 });
    let isSlow = true;
    test.smtp.onMail = () => (isSlow ? new Promise((resolve) => setTimeout(resolve, 3_000)) : undefined);
    const [slow, next] = [mailOf(1), mailOf(2)];
    await test.accept([slow]);
    await until(async () => ((await test.get(slow.id))?.attempts ?? 0) > 0);
    isSlow = false;
    await test.accept([next]);
    await test.has(slow.id, 'sent');
    await test.has(next.id, 'sent');
  }, 60_000);

  it('a server that closes connections gets the mail on another one', async () => {
    await test.addReplica();
    let count = 0;
    test.smtp.onMail = async () => {
      if (count++ > 1) return;
      await test.smtp.stop();
      await test.smtp.restart();
    };
    const mails = [mailOf(1), mailOf(2), mailOf(3)];
    await test.accept(mails);
    for (const { id } of mails) await test.has(id, 'sent');
    for (const { address, id } of mails) expect(new Set(test.smtp.to(address).map(({ mail: { messageId } }) => messageId))).toEqual(new Set([`<${id}@plants.test>`]));
  }, 60_000);

  it('mails about an account come before those about orders, and a replica keeps to its rate', async () => {
    await test.addReplica({}, { NOTIFICATIONS_ROLE: 'webhooks' });
    await test.accept([], [recipientNo(1)]);
    const seen = test.smtp.received;
    await test.addReplica({ perSecond: 20, atOnce: 1 });
    await test.smtp.stop();
    test.shop.happen(...Array.from({ length: 20 }, (_, n) => ({ orderId: n + 1, owner: 1, type: 'order.placed' as const })));
    await until(async () => (await test.list()).length === 20);
    await test.accept([mailOf(2)]);
    const restartedAt = performance.now();
    await test.smtp.restart();
    await until(() => seen.length === 21);
    expect(seen.findIndex(({ to }) => to === 'user-2@plants.test')).toBeLessThan(5);
    // 20 a second, less what the rate has saved up.
    expect((seen.at(-1)?.at ?? 0) - restartedAt).toBeGreaterThan(500);
  }, 60_000);

  it('a user gets 20 mails of a kind about the account within an hour, and the others after it', async () => {
    await test.addReplica();
    const mails = Array.from({ length: 23 }, () => mailOf(1));
    await test.accept(mails);
    await test.accept([mailOf(2)]);
    await until(() => test.smtp.received.length === 21);
    await until(async () => (await test.list({ state: 'held' })).length === 1);
    const [held] = await test.list({ state: 'held' });
    expect(Date.parse(held?.nextAttemptAt ?? '') - Date.now()).toBeGreaterThan(50 * 60_000);
    // Whoever causes so many mails must not silence the others.
    const other = mailOf(1, { kind: 'key-added' });
    await test.accept([other]);
    await test.has(other.id, 'sent');
    await test.shop.sql.query(`UPDATE webhook_clock SET ahead = ahead + interval '1 hour'`);
    await until(() => test.smtp.received.length === 25);
  }, 60_000);

  it('the role `mail` alone sends, and `webhooks` answers', async () => {
    await test.addReplica({}, { NOTIFICATIONS_ROLE: 'mail' });
    await expect(test.shop.caller.call(notifications.listMails, {}, admin, 300)).rejects.toMatchObject({ code: 'unavailable' });
    await test.addReplica({}, { NOTIFICATIONS_ROLE: 'webhooks' });
    const mail = mailOf(1);
    await test.accept([mail], [recipientNo(1)]);
    await test.has(mail.id, 'sent');
    test.shop.happen({ orderId: 1, owner: 1, type: 'order.placed' });
    await until(() => test.smtp.received.length === 2);
  }, 60_000);
});
