import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OutgoingMail } from '@plant-shop/contracts/notifications';
import { atEveryPoint, type CrashTestbed, crashTestTimeoutMs } from '@plant-shop/service-testing/crash/every-point';
import { Run } from '@plant-shop/service-testing/crash/run';
import { until } from '@plant-shop/testing/until';
import { FeedFollower } from '../event-flow.js';
import { userNo } from '../webhooks/webhooks.spec.fixture.js';
import { MailWorker } from './mail-worker.js';
import { mailOf, recipientNo, TestMail } from './mail.spec.fixture.js';
import { MailsService } from './mails.service.js';
import { OrderMails } from './order-mails.js';

describe('when replicas crash or lose connections at any point', () => {
  let test: TestMail;
  let stage: CrashTestbed;
  let orders = 0;
  beforeAll(async () => {
    test = await TestMail.start({ replicas: 0 });
    stage = await test.shop.crashStage({}, test.variables, { timeScale: 0.001, leaseMs: 1_000, attemptLimitMs: 800 });
    await test.accept([], [recipientNo(1)]);
  });
  afterAll(async () => {
    await stage.stop();
    await test.stop();
  });

  /** Expects that every mail was sent, and those of an order in their order. */
  async function expectAllSent(ids: readonly string[]): Promise<void> {
    // Ends leases and pauses, as time would.
    await test.shop.sql.query('UPDATE mails SET due_at = now() WHERE due_at IS NOT NULL');
    test.shop.publish([]);
    stage.survivor.app.get(OrderMails).notify();
    stage.survivor.app.get(MailWorker).notify();
    await until(async () => (await test.shop.sql.query(`SELECT 1 FROM mails WHERE state = 'sent' AND id = ANY ($1)`, [ids])).rowCount === ids.length);
    const sent = test.smtp.received.map(({ mail: { messageId } }) => messageId);
    const places = ids.map((id) => sent.indexOf(`<${id}@plants.test>`));
    expect(places).not.toContain(-1);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect((await test.shop.sql.query('SELECT 1 FROM mails WHERE lease IS NOT NULL OR encrypted IS NOT NULL')).rowCount).toBe(0);
  }

  it('an accepted mail is sent', async () => {
    await atEveryPoint<OutgoingMail, unknown>(stage, {
      name: 'accept mails',
      minCalls: 4,
      given: () => Promise.resolve(mailOf(2)),
      when: ({ app }, mail) => app.get(MailsService).accept({ mails: [mail], recipients: [recipientNo(3)] }),
      eventually: async (mail, { kind }) => {
        // Identity repeats what was not answered.
        if (kind !== 'answered') await test.accept([mail]);
        await expectAllSent([mail.id]);
        await test.shop.sql.query('DELETE FROM mails');
      },
    });
  }, crashTestTimeoutMs);

  it('an event gets one mail', async () => {
    let ids: string[] = [];
    await atEveryPoint(stage, {
      name: 'enqueue mails of orders',
      minCalls: 3,
      given: () => Promise.resolve(),
      makeDue: () => {
        const orderId = ++orders;
        ids = test.shop.happenSilently({ orderId, type: 'order.placed' }, { orderId, newStatus: 'approved' }).map(({ id }) => id);
        return Promise.resolve();
      },
      when: async ({ app }) => {
        await new Run().within(() => app.get(FeedFollower).follower.run());
        await app.get(OrderMails).run();
      },
      eventually: () => expectAllSent(ids),
    });
    expect((await test.shop.sql.query('SELECT 1 FROM mails')).rowCount).toBe(test.shop.feed.length);
  }, crashTestTimeoutMs);

  it('a mail is sent at least once', async () => {
    let id = randomUUID();
    await atEveryPoint(stage, {
      name: 'send a mail',
      minCalls: 4,
      given: () => Promise.resolve(),
      // By SQL, because the survivor is paused.
      makeDue: async () => {
        id = randomUUID();
        const orderId = ++orders;
        await test.shop.sql.query(`INSERT INTO mails (id, kind, user_id, order_id, event, due_at) VALUES ($1, 'order-paid', $2, $3, $4, now() - interval '1 minute')`, [
          ...[id, userNo(1), orderId],
          JSON.stringify({ data: { orderId } }),
        ]);
      },
      when: async ({ app }) => {
        const worker = app.get(MailWorker);
        await worker.run();
        await until(() => worker.isIdle);
      },
      eventually: () => expectAllSent([id]),
    });
  }, crashTestTimeoutMs);
});
