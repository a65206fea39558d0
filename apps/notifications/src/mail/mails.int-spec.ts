import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Mail, notifications, type OutgoingMail } from '@plant-shop/contracts/notifications';
import { contextFor } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { staff, userNo } from '../webhooks/webhooks.spec.fixture.js';
import { admin, goneNo, mailOf, recipientNo, refusal, TestMail } from './mail.spec.fixture.js';

const link = 'https://shop.test/verify#secret-code';

describe('the mails that staff see', () => {
  let test: TestMail;
  let user = 0;
  beforeAll(async () => {
    test = await TestMail.start({ keepEndedMs: 3_000 });
  });
  afterAll(() => test.stop());
  beforeEach(() => {
    user++;
    test.smtp.onRecipient = () => undefined;
  });

  const resend = (mailId: string): Promise<Mail> => test.shop.call(notifications.resendMail, { mailId }, admin);
  const sent = async (mail: OutgoingMail): Promise<OutgoingMail> => {
    await test.accept([mail]);
    await test.has(mail.id, 'sent');
    return mail;
  };
  const failed = async (mail: OutgoingMail): Promise<OutgoingMail> => {
    test.smtp.onRecipient = () => {
      throw refusal(550, 'no');
    };
    await test.accept([mail]);
    await test.has(mail.id, 'failed');
    test.smtp.onRecipient = () => undefined;
    return mail;
  };

  it('are listed newest first, by state, kind and user, in pages, without text and link (slow)', async () => {
    const mails = [await sent(mailOf(user)), await failed(mailOf(user, { kind: 'recovery', data: { link } })), await sent(mailOf(user, { kind: 'recovery', data: { link } }))];
    const userId = userNo(user);
    expect((await test.list({ userId })).map(({ id }) => id)).toEqual(mails.map(({ id }) => id).reverse());
    expect((await test.list({ userId, state: 'failed' })).map(({ id }) => id)).toEqual([mails[1]?.id]);
    expect((await test.list({ userId, kind: 'recovery', state: 'sent' })).map(({ id }) => id)).toEqual([mails[2]?.id]);
    const pages = await test.shop.caller.pages(notifications.listMails, { userId, limit: 2 }, admin);
    expect(pages.map((page) => page.length)).toEqual([2, 1]);
    expect(JSON.stringify(pages)).not.toMatch(/secret-code|user-\d+@/);
    await expect(test.shop.call(notifications.listMails, {}, staff(1))).rejects.toMatchObject({ code: 'forbidden' });
    await expect(test.shop.call(notifications.resendMail, { mailId: mails[0]?.id ?? '' }, staff(1))).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('are listed with the name of the user, and by it', async () => {
    const mail = await sent(mailOf(user));
    expect((await test.list({ username: `user-${user}` })).map(({ id, username }) => [id, username])).toEqual([[mail.id, `user-${user}`]]);
    expect(await test.list({ username: `user-${user}`, userId: userNo(user + 1) })).toEqual([]);
    await expect(test.list({ username: 'nobody' })).rejects.toMatchObject({ code: 'user-not-found' });
  });

  it('a mail about an order is sent again once per Idempotency-Key, as a mail of its own, and audited', async () => {
    await test.accept([], [recipientNo(user)]);
    const [event] = test.shop.happen({ orderId: user, owner: user, type: 'order.placed' });
    await test.has(event?.id ?? '', 'sent');
    const answers: Mail[] = [];
    for (const replayed of [undefined, true]) {
      const raw = await test.shop.caller.client.callRaw(notifications.resendMail, { mailId: event?.id ?? '' }, contextFor(admin), `key of ${user}`);
      expect(raw.replayed).toBe(replayed);
      answers.push(JSON.parse(Buffer.from(raw.payload).toString()) as Mail);
    }
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ kind: 'order-placed', orderId: user, state: 'pending', attempts: 0 });
    await until(() => test.smtp.to(`user-${user}@plants.test`).length === 2);
    const ids = test.smtp.to(`user-${user}@plants.test`).map(({ mail: { messageId } }) => messageId);
    expect(ids).toEqual([`<${event?.id}@plants.test>`, `<${answers[0]?.id}@plants.test>`]);
    const { rows } = await test.shop.sql.query('SELECT operation, subject, target FROM audit_log WHERE target = $1', [event?.id]);
    expect(rows).toEqual([{ operation: 'notifications.resendMail', subject: admin.subject, target: event?.id }]);
    const entries = await test.shop.call(notifications.readAudit, { limit: 1 }, undefined as never);
    expect(entries).toEqual([expect.objectContaining({ operation: 'notifications.resendMail', target: event?.id })]);
  });

  it('a failed mail with a link is sent again until the link ends (slow)', async () => {
    const mail = await failed(mailOf(user, { kind: 'recovery', data: { link } }));
    const { id } = await resend(mail.id);
    await test.has(id, 'sent');
    expect(test.smtp.to(mail.address).at(-1)?.mail.text).toContain(link);
    const short = await failed(mailOf(user, { kind: 'recovery', data: { link, minutes: '0.02' } }));
    await until(async () => ((await test.shop.sql.query('SELECT 1 FROM mails WHERE id = $1 AND encrypted IS NULL', [short.id])).rowCount ?? 0) === 1);
    await expect(resend(short.id)).rejects.toMatchObject({ code: 'mail-not-resendable' });
  });

  it('others are refused: unknown ones, those that wait, and those whose text or address is gone (slow)', async () => {
    await expect(resend(userNo(1))).rejects.toMatchObject({ code: 'mail-not-found' });
    await expect(resend((await sent(mailOf(user, { kind: 'recovery', data: { link } }))).id)).rejects.toMatchObject({ code: 'mail-not-resendable' });
    await expect(resend((await failed(mailOf(user))).id)).rejects.toMatchObject({ code: 'mail-not-resendable' });
    test.smtp.onRecipient = () => {
      throw refusal(450, 'later');
    };
    const waiting = mailOf(user, { kind: 'recovery', data: { link } });
    await test.accept([waiting]);
    await until(async () => ((await test.get(waiting.id))?.attempts ?? 0) > 0);
    await expect(resend(waiting.id)).rejects.toMatchObject({ code: 'mail-not-resendable' });
    test.smtp.onRecipient = () => undefined;
    await test.accept([], [recipientNo(user)]);
    const [event] = test.shop.happen({ orderId: user, owner: user, type: 'order.placed' });
    await test.has(event?.id ?? '', 'sent');
    await test.accept([], [goneNo(user, 2)]);
    await expect(resend(event?.id ?? '')).rejects.toMatchObject({ code: 'mail-not-resendable' });
  });

  it('are deleted with their user, and when they are old (slow)', async () => {
    const [mail, other] = [await sent(mailOf(user)), await sent(mailOf(user + 500))];
    test.shop.revoke('user', userNo(user));
    await until(async () => (await test.get(mail.id)) === undefined);
    expect(await test.get(other.id)).toBeDefined();
    await until(async () => (await test.get(other.id)) === undefined);
  });
});

describe('texts and addresses', () => {
  it('are encrypted, and again after a change of the key (slow)', async () => {
    const test = await TestMail.start({ replicas: 0 });
    const [former, current] = ['former'.padEnd(32, '-'), 'current'.padEnd(32, '-')];
    try {
      await test.addReplica({}, { NOTIFICATIONS_ROLE: 'webhooks', NOTIFICATIONS_SECRET: former });
      const mail = mailOf(1);
      await test.accept([mail], [recipientNo(1)]);
      const bytes = async (): Promise<string> => {
        const { rows } = await test.shop.sql.query('SELECT encrypted FROM mails UNION ALL SELECT encrypted FROM mail_recipients');
        return rows.map(({ encrypted }: { encrypted: Buffer }) => encrypted.toString('latin1')).join(' ');
      };
      expect(await bytes()).not.toContain('user');
      await test.smtp.stop();
      await test.addReplica({}, { NOTIFICATIONS_SECRET: `${current},${former}` });
      await until(async () => (await test.shop.sql.query('SELECT key_id FROM mails UNION SELECT key_id FROM mail_recipients')).rowCount === 1 && (await test.get(mail.id))?.attempts !== 0);
      await test.shop.stopReplicas();
      await test.smtp.restart();
      await test.addReplica({}, { NOTIFICATIONS_SECRET: current });
      test.shop.happen({ orderId: 1, owner: 1, type: 'order.placed' });
      await until(() => test.smtp.to(mail.address).length === 2);
      // A lost secret fails a mail, and holds up no later one.
      await test.shop.stopReplicas();
      await test.addReplica({}, { NOTIFICATIONS_ROLE: 'webhooks', NOTIFICATIONS_SECRET: former });
      const lost = mailOf(1);
      await test.accept([lost]);
      await test.shop.stopReplicas();
      await test.addReplica({}, { NOTIFICATIONS_SECRET: current });
      const next = mailOf(1);
      await test.accept([next]);
      await test.has(next.id, 'sent');
      expect(await test.get(lost.id)).toMatchObject({ state: 'failed', lastError: 'The mail cannot be decrypted or written.' });
    } finally {
      await test.stop();
    }
  });
});
