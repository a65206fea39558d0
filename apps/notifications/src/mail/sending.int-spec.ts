import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sampleOf } from '@plant-shop/contracts/samples';
import { notifications } from '@plant-shop/contracts/notifications';
import { readConfig } from '@plant-shop/platform/config';
import { until } from '@plant-shop/testing/until';
import { mailOf, refusal, TestMail } from './mail.spec.fixture.js';
import { Mailer } from './mailer.js';
import { mailSettings, toMailOptions } from './settings.js';

const link = 'https://shop.test/verify?a=1&b=2#secret-code';

describe('sending mail', () => {
  let test: TestMail;
  let user = 0;
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

  it('an accepted mail is sent once, as text and HTML, and its text is deleted', async () => {
    const mail = mailOf(user, { kind: 'verify-address', data: { link, minutes: '30' } });
    await test.accept([mail]);
    await test.accept([mail]);
    await test.has(mail.id, 'sent');
    await test.accept([mail]);
    const sent = await test.get(mail.id);
    expect(sent).toMatchObject({ kind: 'verify-address', state: 'sent', attempts: 1, address: 'u…@plants.test' });
    const [received, ...others] = test.smtp.to(mail.address);
    expect(others).toEqual([]);
    expect(received?.mail).toMatchObject({ from: { name: 'Plant shop', address: 'shop@plants.test' }, subject: 'Confirm your address', messageId: `<${mail.id}@plants.test>` });
    expect(received?.mail.headers.find(({ key }) => key === 'auto-submitted')?.value).toBe('auto-generated');
    expect(received?.mail.text).toContain(`Confirm the address:\n${link}\n`);
    expect(received?.mail.html).toContain('href="https://shop.test/verify?a=1&#38;b=2#secret-code"');
    const { rows } = await test.shop.sql.query('SELECT * FROM mails WHERE id = $1', [mail.id]);
    expect(rows).toEqual([expect.objectContaining({ encrypted: null, key_id: null })]);
  });

  it('addresses and texts stay what they are, and add no header or recipient', async () => {
    const addresses = [`ann+plants${user}@plants.test`, `o'neil${user}@plants.test`, `"quoted"@plants.test`, `änne@plänts.test`, `a@plants.test\r\nBcc: other@plants.test`, 'a@plants.test,b@plants.test'];
    const refused = await Promise.all(addresses.map((address) => test.accept([mailOf(user, { address })]).then(() => 'taken', (error: unknown) => (error as { code?: string }).code)));
    expect(refused).toEqual(['taken', 'taken', ...Array<string>(4).fill('invalid-input')]);
    const name = 'Änne\r\nBcc: other@plants.test\r\n\r\n<script>alert("x")</script> {{link}}';
    const mail = mailOf(user, { kind: 'role-changed', data: { username: name, role: 'staff' } });
    await test.accept([mail]);
    await test.has(mail.id, 'sent');
    for (const address of addresses.slice(0, 2)) await until(() => test.smtp.to(address).length === 1);
    const received = test.smtp.received.find(({ raw }) => raw.includes(mail.id));
    expect(received?.to).toBe(mail.address);
    expect(received?.mail.headers.map(({ key }) => key)).not.toContain('bcc');
    expect(received?.mail.bcc).toBeUndefined();
    expect(received?.mail.text).toContain('Hello Änne Bcc: other@plants.test <script>alert("x")</script> {{link}},');
    expect(received?.mail.html).not.toContain('<script>');
    expect(received?.mail.html).toContain('&#60;script&#62;');
  });

  it('the name of the shop may have any characters (slow)', async () => {
    const other = await TestMail.start({ replicas: 0 });
    try {
      await other.addReplica({}, { SHOP_NAME: 'Grün & "Söhne" <Berlin>, GmbH', SHOP_ADDRESS: 'Weg 1 | 10115 Berlin' });
      const mail = mailOf(user);
      await other.accept([mail]);
      await other.has(mail.id, 'sent');
      const [received] = other.smtp.received;
      expect(received?.mail.from).toEqual({ name: 'Grün & "Söhne" <Berlin>, GmbH', address: 'shop@plants.test' });
      expect(received?.mail.text).toContain('-- \nGrün & "Söhne" <Berlin>, GmbH\nWeg 1\n10115 Berlin');
      expect(received?.mail.html).toContain('Grün &#38; &#34;Söhne&#34; &#60;Berlin&#62;, GmbH<br>Weg 1<br>10115 Berlin');
    } finally {
      await other.stop();
    }
  });

  it('a refused mailbox fails the mail at once; staff see why, without the address', async () => {
    test.smtp.onRecipient = (address) => {
      throw refusal(550, `5.1.1 <${address}> has no mailbox`);
    };
    const mail = mailOf(user);
    await test.accept([mail]);
    await test.has(mail.id, 'failed');
    expect(await test.get(mail.id)).toMatchObject({ attempts: 1, lastError: 'The mail server answered: 550 5.1.1 <u…@plants.test> has no mailbox' });
    const { rows } = await test.shop.sql.query('SELECT encrypted FROM mails WHERE id = $1', [mail.id]);
    expect(rows).toEqual([{ encrypted: null }]);
  });

  it('a mail that was refused for now is sent later, with the same Message-ID (slow)', async () => {
    const refusals = [refusal(451, 'try again later'), refusal(421, 'too busy')];
    test.smtp.onMail = () => {
      const next = refusals.shift();
      if (next) throw next;
    };
    const mail = mailOf(user);
    await test.accept([mail]);
    await test.has(mail.id, 'sent');
    expect(test.smtp.to(mail.address).map(({ mail: { messageId } }) => messageId)).toEqual(Array(3).fill(`<${mail.id}@plants.test>`));
    expect(await test.get(mail.id)).toMatchObject({ attempts: 3 });
    expect(await test.get(mail.id)).not.toHaveProperty('lastError');
  });

  it('a mail waits for a server that was stopped', async () => {
    await test.smtp.stop();
    const mail = mailOf(user);
    await test.accept([mail]);
    await until(async () => ((await test.get(mail.id))?.attempts ?? 0) > 0);
    expect(await test.get(mail.id)).toMatchObject({ state: 'pending', lastError: expect.stringMatching(/^The mail server cannot be reached/) });
    await test.smtp.restart();
    await test.has(mail.id, 'sent');
  });

  describe('a mail server that', () => {
    let slow: TestMail;
    beforeAll(async () => {
      slow = await TestMail.start({ attemptLimitMs: 6_000 });
    });
    afterAll(() => slow.stop());

    const never = (): Promise<void> => new Promise(() => undefined);
    /** Answers one mail, or its recipient, otherwise. */
    const once = (where: 'onMail' | 'onRecipient', fault: () => Promise<void> | void): void => {
      slow.smtp[where] = () => {
        slow.smtp[where] = () => undefined;
        return fault();
      };
    };

    it('takes its time gets a mail once (slow)', async () => {
      once('onMail', () => pause(1_500));
      const mail = mailOf(user);
      await slow.accept([mail]);
      await slow.has(mail.id, 'sent');
      expect(await slow.get(mail.id)).toMatchObject({ attempts: 1 });
      expect(slow.smtp.to(mail.address)).toHaveLength(1);
    });

    it.each<[string, 'onMail' | 'onRecipient', () => Promise<void> | void, number]>([
      ['has the mail and never says so', 'onMail', never, 2],
      ['has the mail and closes', 'onMail', () => slow.smtp.drop(), 2],
      ['never answers for a recipient', 'onRecipient', never, 1],
      ['closes when it is told the recipient', 'onRecipient', () => slow.smtp.drop(), 1],
    ])('%s gets it again, as the same mail (slow)', async (_, where, fault, copies) => {
      once(where, fault);
      const mail = mailOf(user);
      await slow.accept([mail]);
      await slow.has(mail.id, 'sent');
      expect(slow.smtp.to(mail.address).map(({ mail: { messageId } }) => messageId)).toEqual(Array(copies).fill(`<${mail.id}@plants.test>`));
    });
  });

  it('a mail without the link that its text needs fails, and others are sent', async () => {
    const mails = [mailOf(user, { kind: 'recovery' }), mailOf(user, { kind: 'recovery', data: { link: 'javascript:alert(1)' } }), mailOf(user, { kind: 'recovery', data: { link } })];
    await test.accept(mails);
    for (const [n, state] of (['failed', 'failed', 'sent'] as const).entries()) await test.has(mails[n]?.id ?? '', state);
    expect(await test.get(mails[0]?.id ?? '')).toMatchObject({ attempts: 0, lastError: 'The mail is incomplete: the mail has no link.' });
  });

  it('a link is tried until it ends, and never sent after (slow)', async () => {
    test.smtp.onMail = () => {
      throw refusal(451, 'try again later');
    };
    const mail = mailOf(user, { kind: 'recovery', data: { link, minutes: '0.01' } });
    await test.accept([mail]);
    await test.has(mail.id, 'failed');
    expect(await test.get(mail.id)).toMatchObject({ lastError: 'The link ended before the mail could be sent.' });
    const { rows } = await test.shop.sql.query('SELECT encrypted FROM mails WHERE id = $1', [mail.id]);
    expect(rows).toEqual([{ encrypted: null }]);
  });

  it('the first attempts of mails about an account are in order, and a stuck one holds up no others', async () => {
    test.smtp.onRecipient = (address) => {
      if (address.startsWith('stuck')) throw refusal(450, 'try again later');
    };
    const mails = [mailOf(user), mailOf(user, { address: 'stuck@plants.test' }), mailOf(user, { kind: 'key-added' }), mailOf(user, { kind: 'role-changed' })];
    await test.accept(mails);
    await test.has(mails[3]?.id ?? '', 'sent');
    // On a busy machine the lease of one may end, and it comes again.
    expect([...new Set(test.smtp.to(mails[0]?.address ?? '').map(({ mail: { subject } }) => subject))]).toEqual([
      'Your password was changed',
      'An API key was added to your account',
      'The role of your account was changed',
    ]);
  });

  it('production sends nothing without TLS', async () => {
    const { host, port } = { host: '127.0.0.1', port: Number(new URL(test.smtp.url).port) };
    const shop = { name: 'Shop', address: [], colour: '#000000' };
    const options = { ...toMailOptions(readConfig(mailSettings, { MAIL_FROM: 'shop@plants.test' }), true), shop };
    const message = { id: randomUUID(), to: `tls-${user}@plants.test`, subject: 'a', text: 'a', html: 'a', createdAt: new Date() };
    for (const requireTls of [true, false]) {
      const mailer = new Mailer(options, { host, port, isTls: false, requireTls });
      expect((await mailer.send(message)).isSent).toBe(!requireTls);
      expect(test.smtp.to(message.to)).toHaveLength(requireTls ? 0 : 1);
      mailer.close();
    }
  });

  it('the mails of the contract are taken', async () => {
    const { request, answer } = sampleOf(notifications.acceptMails);
    expect(await test.accept(request.mails, request.recipients)).toEqual(answer);
    await test.has(request.mails[0]?.id ?? '', 'sent');
  });
});
