import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { CodedError, unavailable } from '@plant-shop/platform/errors';
import { until } from '@plant-shop/testing/until';
import { manager, TestIdentity } from '../identity.spec.fixture.js';
import { Mailbox } from './mail.spec.fixture.js';

describe('the outbox of mails', () => {
  let shop: TestIdentity;
  let box: Mailbox | undefined;
  beforeEach(async () => {
    shop = await TestIdentity.start();
  });
  afterEach(async () => {
    await box?.stop();
    box = undefined;
    await shop.stop();
  });

  const waiting = async (): Promise<number> => (await shop.sql.query('SELECT 1 FROM mail_outbox')).rowCount ?? 0;
  const newAddress = (): string => `${randomUUID()}@shop.test`;

  it('keeps mails while notifications is away, or refuses them, and sends them later, each once (slow)', async () => {
    const email = newAddress();
    await shop.register({ email });
    expect(await waiting()).toBe(1);
    let refused = 0;
    box = await Mailbox.start(shop.natsUrl, () => {
      if (refused++ === 0) throw unavailable('The database');
    });
    await box.receive(email, 'verify-address');
    await until(async () => (await waiting()) === 0);
    expect(box.of(email)).toHaveLength(1);
    expect(new Set(box.calls.flatMap(({ mails }) => mails.map(({ id }) => id))).size).toBe(1);
  });

  it('stores neither addresses nor links in plain text, and of a link only the hash (slow)', async () => {
    const email = newAddress();
    await shop.register({ email });
    const { rows } = await shop.sql.query<{ content: Buffer }>('SELECT content FROM mail_outbox');
    box = await Mailbox.start(shop.natsUrl);
    const code = await box.code(email, 'verify-address');
    for (const { content } of rows) expect(content.toString('latin1')).not.toMatch(new RegExp(`${email}|${code}|account`));
    const links = await shop.sql.query<{ hash: string }>(`SELECT encode(code_hash, 'hex') AS hash FROM one_time_links`);
    expect(links.rows).toHaveLength(1);
    expect(links.rows[0]?.hash).not.toContain(Buffer.from(code).toString('hex'));
  });

  it('keeps mails while notifications has no mail server, and tells it recipients all the same (slow)', async () => {
    const email = newAddress();
    const { username, userId } = await shop.registerAndLogin();
    await shop.sql.query('UPDATE users SET email = $2, order_mails = true WHERE user_id = $1', [userId, email]);
    await shop.sql.query('UPDATE users SET email_verified_at = now() WHERE user_id = $1', [userId]);
    await shop.register({ email: newAddress() });
    await shop.call(identity.patchUser, { username, user: { orderMails: false } }, manager);
    await shop.stopReplicas();
    await shop.sql.query(`UPDATE mail_outbox SET leased_until = '-infinity'`);
    box = await Mailbox.start(shop.natsUrl, ({ mails }) => {
      if (mails.length > 0) throw new CodedError('mail-disabled', 'The shop has no mail server.');
    });
    await shop.addReplica();
    await until(() => box?.recipients.length === 1 && box.calls.some(({ mails }) => mails.length > 0));
    expect(await waiting()).toBe(1);
  });

  it('says how long the link of a mail still works (slow)', async () => {
    const email = newAddress();
    await shop.register({ email });
    await shop.sql.query(`UPDATE mail_outbox SET useless_from = useless_from - interval '90 minutes'`);
    box = await Mailbox.start(shop.natsUrl);
    expect((await box.receive(email, 'verify-address')).data['minutes']).toBe('1350');
  });

  it('drops a mail whose link has ended, and keeps others (slow)', async () => {
    const [late, other] = [newAddress(), newAddress()];
    await shop.register({ email: late });
    await shop.sql.query('UPDATE mail_outbox SET useless_from = now()');
    await shop.register({ email: other });
    box = await Mailbox.start(shop.natsUrl);
    await box.receive(other, 'verify-address');
    expect(box.of(late)).toEqual([]);
  });

  it('sends the changes of a user in order from several replicas, and drops a row that cannot be decrypted (slow)', async () => {
    const { username, userId } = await shop.registerAndLogin();
    await shop.sql.query(`UPDATE users SET email = 'ada@shop.test' WHERE user_id = $1`, [userId]);
    await shop.sql.query('UPDATE users SET email_verified_at = now() WHERE user_id = $1', [userId]);
    await shop.sql.query(`INSERT INTO mail_outbox (id, user_id, kind, content, key_id) VALUES ($1, $2, 'recovery', 'x', 'lost')`, [randomUUID(), userId]);
    for (let n = 0; n < 150; n++) await shop.call(identity.patchUser, { username, user: { orderMails: n % 2 === 0 } }, manager);
    await shop.addReplica();
    let calls = 0;
    box = await Mailbox.start(shop.natsUrl, async () => {
      // The first call is answered late: the rows of the user that follow must wait for it.
      if (calls++ === 0) await new Promise((resolve) => setTimeout(resolve, 500));
    });
    await until(async () => (await waiting()) === 0);
    const versions = box.recipients.map(({ version }) => version);
    expect(versions).toHaveLength(150);
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(box.mails).toEqual([]);
  });
});
