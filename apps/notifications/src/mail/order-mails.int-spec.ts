import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { until } from '@plant-shop/testing/until';
import { notificationsDatabase } from '../database.js';
import { QueueClock } from '../webhooks/queue/queue-clock.js';
import { type Change, userNo } from '../webhooks/webhooks.spec.fixture.js';
import { goneNo, recipientNo, refusal, TestMail } from './mail.spec.fixture.js';
import { enqueueOrderMails } from './mails.repository.js';

describe('mail about orders', () => {
  let test: TestMail;
  let user = 0;
  const subjects = (n = user): (string | undefined)[] => test.smtp.to(`user-${n}@plants.test`).map(({ mail: { subject } }) => subject);
  const followed = (): Promise<void> =>
    until(async () => (await test.shop.sql.query('SELECT 1 FROM mail_watermark JOIN feed_watermark USING (watermark) WHERE watermark = $1', [test.shop.feed.length])).rowCount === 1);
  beforeAll(async () => {
    test = await TestMail.start();
  });
  afterAll(() => test.stop());
  beforeEach(() => {
    user++;
  });
  afterEach(() => {
    test.smtp.onRecipient = () => undefined;
    test.smtp.onMail = () => undefined;
  });

  it('a user who wants it gets one for each step of an order, in order; others get none (slow)', async () => {
    await test.accept([], [recipientNo(user)]);
    const orderId = 100 + user;
    test.smtp.onRecipient = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
    };
    test.shop.happen(
      { orderId, owner: user, type: 'order.placed' },
      { orderId, owner: user, newStatus: 'placed' },
      { orderId, owner: user, newStatus: 'approved' },
      { orderId: 999, owner: 500, type: 'order.placed' },
      { orderId, owner: user, type: 'order.shipped' },
      { orderId, owner: user, newStatus: 'delivered' },
      { orderId, owner: user, newStatus: 'cancelled' },
      { orderId, owner: user, type: 'refund.due' },
      { orderId, type: 'stock.out' },
    );
    await until(() => subjects().length === 5);
    expect(subjects()).toEqual([
      `We have your order ${orderId}`,
      `Your order ${orderId} is paid`,
      `Your order ${orderId} is on its way`,
      `Your order ${orderId} was cancelled`,
      `You get your money back for order ${orderId}`,
    ]);
    await followed();
    expect(test.smtp.received).toHaveLength(5);
    expect(await test.list({ userId: userNo(user), kind: 'order-paid' })).toEqual([expect.objectContaining({ orderId, state: 'sent', address: 'u…@plants.test' })]);
  });

  it('a later mail of an order waits while an earlier one is refused, and those of other orders do not (slow)', async () => {
    await test.accept([], [recipientNo(user)]);
    test.smtp.onMail = ({ mail: { subject } }) => {
      if (subject === 'We have your order 1' && !subjects().includes('Your order 2 is paid')) throw refusal(451, 'try again later');
    };
    const steps = (orderId: number): Change[] => [
      { orderId, owner: user, type: 'order.placed' },
      { orderId, owner: user, newStatus: 'approved' },
    ];
    test.shop.happen(...steps(1), ...steps(2));
    await until(() => subjects().includes('Your order 1 is paid'));
    const of = (order: string): (string | undefined)[] => subjects().filter((one) => one?.includes(order));
    // The server has seen the refused mail, too.
    expect(of('order 1').length).toBeGreaterThan(2);
    expect(of('order 1').indexOf('Your order 1 is paid')).toBe(of('order 1').lastIndexOf('We have your order 1') + 1);
    expect(of('order 2')).toEqual(['We have your order 2', 'Your order 2 is paid']);
  });

  it('the address is that of the newest change, whatever the order in which changes arrive', async () => {
    await test.accept([], [recipientNo(user, 5), recipientNo(user, 4, { address: 'old@plants.test' })]);
    await test.accept([], [recipientNo(user, 3, { address: 'older@plants.test' })]);
    test.shop.happen({ orderId: 3, owner: user, type: 'order.placed' });
    await until(() => subjects().length === 1);
    await test.accept([], [goneNo(user, 6)]);
    test.shop.happen({ orderId: 3, owner: user, newStatus: 'approved' });
    await followed();
    expect(await test.list({ userId: userNo(user) })).toHaveLength(1);
  });

  it('a mail that waits is not sent to a user who no longer wants it', async () => {
    await test.accept([], [recipientNo(user)]);
    await test.smtp.stop();
    const [event] = test.shop.happen({ orderId: 4, owner: user, type: 'order.placed' });
    await until(async () => ((await test.get(event?.id ?? ''))?.attempts ?? 0) > 0);
    await test.accept([], [goneNo(user, 2)]);
    // The server stays away: an attempt that had begun before would be right to succeed.
    await test.has(event?.id ?? '', 'failed');
    await test.smtp.restart();
    expect(await test.get(event?.id ?? '')).toMatchObject({ lastError: 'The user has no address for mail about orders.' });
    expect(subjects()).toEqual([]);
  });

  it('an event that a restored store numbers again is not mailed again', async () => {
    await test.accept([], [recipientNo(user)]);
    const [event] = test.shop.happen({ orderId: 5, owner: user, type: 'order.placed' });
    await test.has(event?.id ?? '', 'sent');
    // As after 30 days.
    await test.shop.sql.query('DELETE FROM mails WHERE id = $1', [event?.id]);
    if (event) test.shop.happenAgain(event);
    await followed();
    expect(await test.list({ userId: userNo(user) })).toEqual([]);
  });

  it('users get no mail about events of days ago', async () => {
    await test.accept([], [recipientNo(user)]);
    await test.shop.sql.query('SELECT 1 FROM mail_watermark');
    const client = await test.shop.sql.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM mail_watermark FOR UPDATE');
    test.shop.happen({ orderId: 6, owner: user, type: 'order.placed' }, { orderId: 7, owner: user, type: 'order.placed' });
    await until(async () => (await test.shop.sql.query('SELECT 1 FROM feed_watermark WHERE watermark = $1', [test.shop.feed.length])).rowCount === 1);
    await client.query(`UPDATE event_log SET logged_at = now() - interval '73 hours' WHERE order_id = 6`);
    await client.query('COMMIT');
    client.release();
    await until(() => subjects().length === 1);
    await followed();
    expect(subjects()).toEqual(['We have your order 7']);
  });
});

describe('a step of the log', () => {
  it('reads only new events, however long the log is (slow)', async () => {
    const test = await TestMail.start();
    const { connectionString } = test.shop.sql.options as { connectionString: string };
    const logger = createLogger('test', 'fatal');
    const database = await Database.connect(notificationsDatabase({ databaseUrl: connectionString, databaseCa: '', sandbox: false }, 1), logger);
    const passed = async (): Promise<boolean> => (await test.shop.sql.query('SELECT 1 FROM mail_watermark WHERE watermark = $1', [test.shop.feed.length])).rowCount === 1;
    try {
      test.shop.happen(...Array.from({ length: 3_000 }, (_, n) => ({ orderId: n + 1, type: 'order.placed' }) as const));
      await until(passed);
      await test.shop.stopReplicas();
      await test.shop.sql.query('ANALYZE event_log');
      const step = (): Promise<number> =>
        new QueueClock(database, logger).transaction(
          async (tx) => {
            await enqueueOrderMails(tx, 2_000, true);
            const [read] = await tx.query<{ rows: number }>(`SELECT sum(pg_stat_get_xact_tuples_returned(oid))::bigint AS rows FROM pg_class WHERE relname ~ '^event_log'`);
            return read?.rows ?? NaN;
          },
          { useGenericPlans: true },
        );
      expect(await step()).toBe(0);
      await test.shop.sql.query('UPDATE mail_watermark SET watermark = watermark - 1');
      expect(await step()).toBeLessThan(10);
      expect(await passed()).toBe(true);
    } finally {
      await database.close();
      await test.stop();
    }
  });
});

describe('a shop without a mail server', () => {
  it('refuses mails, takes addresses, and sends nothing about the orders of that time later (slow)', async () => {
    const test = await TestMail.start({ replicas: 0 });
    try {
      await test.addReplica({}, { SMTP_URL: '' });
      await expect(test.accept([{ id: '00000000-0000-4000-8000-00000000000a', kind: 'recovery', userId: userNo(1), address: 'a@plants.test', data: {} }])).rejects.toMatchObject({ code: 'mail-disabled' });
      await test.accept([], [recipientNo(1)]);
      test.shop.happen({ orderId: 1, type: 'order.placed' });
      await until(async () => (await test.shop.sql.query('SELECT 1 FROM mail_watermark WHERE watermark = 1')).rowCount === 1);
      await test.shop.stopReplicas();
      await test.addReplica();
      test.shop.happen({ orderId: 1, newStatus: 'approved' });
      await until(() => test.smtp.received.length === 1);
      expect(test.smtp.received[0]?.mail.subject).toBe('Your order 1 is paid');
      expect(await test.list()).toHaveLength(1);
    } finally {
      await test.stop();
    }
  });
});
