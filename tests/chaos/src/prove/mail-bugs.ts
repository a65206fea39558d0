import type { Bug } from './bug.js';

const workload = { mailCustomers: 3, mailUsers: 4, failingMails: 0.2, seconds: 16 };

/** When customers have verified their addresses, in milliseconds of a trial. */
const whileMailed = [9_000, 13_000, 17_000];

export const mailBugs: readonly Bug[] = [
  {
    id: 'outbox-emptied-early',
    name: 'identity deletes what it tells notifications before the answer',
    edits: [{
      file: 'apps/identity/dist/mail/mail-sender.js',
      find: 'await this.rpc.call(notifications.acceptMails,',
      replace: `await this.database.transaction((tx) => tx.execute('DELETE FROM mail_outbox WHERE position = ANY ($1)', [rows.map(({ position }) => position)]));
        await this.rpc.call(notifications.acceptMails,`,
    }],
    breaks: ['mails'],
    faults: whileMailed.map((atMs) => ({ kind: 'cut', atMs, targets: ['notifications-1', 'notifications-2'], from: 'nats', forMs: 3_500 })),
    workload,
  },
  {
    id: 'mail-sent-early',
    name: 'a mail is recorded as sent before the mail server has accepted it',
    edits: [{
      file: 'apps/notifications/dist/mail/mail-worker.js',
      find: 'const sent = await mailer.send(message);',
      replace: 'await this.record(claim, this.outcomeOf(claim.mail, message.to, { isSent: true }));\n        const sent = await mailer.send(message);',
    }],
    breaks: ['mails'],
    workload,
  },
  {
    id: 'mail-watermark-early',
    name: 'the watermark of mails moves before they are enqueued',
    edits: [{
      file: 'apps/notifications/dist/mail/order-mails.js',
      find: 'async () => (await clock',
      replace: `async () => {
            const [moved] = await clock.transaction((tx) => tx.query(
              'UPDATE mail_watermark m SET watermark = f.watermark FROM feed_watermark f, (SELECT watermark AS after FROM mail_watermark) b WHERE m.watermark < f.watermark RETURNING b.after'));
            if (!moved) return false;
            await new Promise((passing) => setTimeout(passing, 2_000));
            return clock.transaction(async (tx) => {
              tx.send('UPDATE mail_watermark SET watermark = least(watermark, $1)', [moved.after]);
              return (await enqueueOrderMails(tx, stepEvents, mail.server !== undefined))?.hasMore ?? false;
            });
          }, async () => (await clock`,
    }],
    breaks: ['mails'],
    // Late: a kill also delays the mails by which customers verify their addresses, and before that they get none about orders.
    faults: [20_000, 24_000, 28_000, 32_000].map((atMs) => ({ kind: 'kill', atMs, targets: ['notifications-1', 'notifications-2'] })),
    workload: { ...workload, seconds: 36 },
  },
  {
    id: 'older-recipient-wins',
    name: 'of two changes of whom mail goes to, the older one wins',
    edits: [{ file: 'apps/notifications/dist/mail/mails.repository.js', find: 'WHERE excluded.version > known.version', replace: 'WHERE excluded.version < known.version' }],
    breaks: ['mails'],
    workload: { ...workload, mailUsers: 8, seconds: 24 },
  },
];
