import type { ListMails, MailKind, MailRecipient, OutgoingMail } from '@plant-shop/contracts/notifications';
import type { Cipher } from '@plant-shop/platform/cipher';
import type { PageBounds } from '@plant-shop/platform/patterns/paging';
import type { Reader, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { queueAhead, queueNow } from '../webhooks/queue/queue-clock.js';
import { type MailRecord, maskAddress, minutesOfLink } from './mail.js';

// All times of the queue are those of `QueueClock`. Rows are locked by ascending position.

/** What a mail about an account says, and to whom. */
export interface AccountMail {
  readonly address: string;
  readonly data: Readonly<Record<string, string>>;
}

/** Who gets mail about orders. */
export interface Recipient {
  readonly address: string;
  readonly username?: string;
}

const purposeOfMail = (id: string): string => `mail ${id}`;
const purposeOfRecipient = (userId: string): string => `recipient of mail ${userId}`;

export const openMail = (cipher: Cipher, id: string, encrypted: Buffer): AccountMail => JSON.parse(cipher.decrypt(encrypted, purposeOfMail(id))) as AccountMail;
export const openRecipient = (cipher: Cipher, userId: string, encrypted: Buffer): Recipient =>
  JSON.parse(cipher.decrypt(encrypted, purposeOfRecipient(userId))) as Recipient;

const insert: Statement = {
  name: 'mails-insert',
  text: `
    INSERT INTO mails (id, kind, user_id, key_id, encrypted, masked, link_until, due_at)
    SELECT id, kind, user_id, key_id, encrypted, masked, ${queueNow} + minutes * interval '1 minute', ${queueNow}
    FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::bytea[], $6::text[], $7::float8[])
      WITH ORDINALITY AS t (id, kind, user_id, key_id, encrypted, masked, minutes, n)
    ORDER BY n ON CONFLICT (id) DO NOTHING`,
};

/** Adds mails, except known ones. */
export function insertMails(tx: Transaction, cipher: Cipher, mails: readonly OutgoingMail[]): void {
  if (mails.length === 0) return;
  const encrypted = mails.map(({ id, address, data }) => cipher.encrypt(JSON.stringify({ address, data } satisfies AccountMail), purposeOfMail(id)));
  tx.send(insert, [
    mails.map(({ id }) => id),
    mails.map(({ kind }) => kind),
    mails.map(({ userId }) => userId),
    encrypted.map(({ keyId }) => keyId),
    encrypted.map(({ bytes }) => bytes),
    mails.map(({ address }) => maskAddress(address)),
    mails.map(({ data }) => minutesOfLink(data) ?? null),
  ]);
}

const upsertRecipients: Statement = {
  name: 'mails-upsert-recipients',
  text: `
    INSERT INTO mail_recipients AS known (user_id, version, key_id, encrypted)
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bytea[]) AS t (user_id, version, key_id, encrypted) ORDER BY user_id
    ON CONFLICT (user_id) DO UPDATE SET version = excluded.version, key_id = excluded.key_id, encrypted = excluded.encrypted
    WHERE excluded.version > known.version`,
};

/** Sets who gets mail about orders, except where a newer change is known. */
export function saveRecipients(tx: Transaction, cipher: Cipher, recipients: readonly MailRecipient[]): void {
  // One statement may change a row only once.
  const newest = new Map<string, MailRecipient>();
  for (const one of recipients) if (one.version > (newest.get(one.userId)?.version ?? -1)) newest.set(one.userId, one);
  if (newest.size === 0) return;
  const rows = [...newest.values()].map(({ userId, version, address, username }) => ({
    ...{ userId, version },
    sealed:
      address === undefined
        ? undefined
        : cipher.encrypt(JSON.stringify({ address, ...(username !== undefined && { username }) } satisfies Recipient), purposeOfRecipient(userId)),
  }));
  tx.send(upsertRecipients, [
    rows.map(({ userId }) => userId),
    rows.map(({ version }) => version),
    rows.map(({ sealed }) => sealed?.keyId ?? null),
    rows.map(({ sealed }) => sealed?.bytes ?? null),
  ]);
}

// Claims

/** A mail that is due, locked until the transaction ends. */
export interface DueMail {
  readonly position: number;
  readonly id: string;
  readonly kind: MailKind;
  readonly userId: string;
  readonly orderId: number | null;
  readonly event: string | null;
  readonly encrypted: Buffer | null;
  /** The user's, for a mail about an order; null if the user has no address for it. */
  readonly recipient: Buffer | null;
  readonly attempts: number;
  readonly createdAt: Date;
  readonly hasLink: boolean;
  /** The link has ended. */
  readonly isOver: boolean;
  /** When to look again: an earlier mail comes first. */
  readonly blockedUntil: Date | null;
  /** When the user may get another mail of this kind. */
  readonly heldUntil: Date | null;
}

/** A replica looks at a mail behind another one at most five times a second. */
const soonest = `${queueNow} + interval '200 milliseconds'`;

/**
 * An order's mail waits until earlier ones were sent or have failed; an account's mail only for the first attempt of earlier ones, because the user
 * may have corrected an address that refuses them, and not for those of another kind that are held, or wait behind one: others may cause a flood of one
 * kind. Mails about accounts come first.
 */
const takeDue: Statement = {
  name: 'mails-take-due',
  text: `
    WITH due AS MATERIALIZED (
      SELECT position FROM mails WHERE due_at <= ${queueNow} ORDER BY order_id IS NOT NULL, due_at, position LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
    )
    SELECT m.position, m.id, m.kind, m.user_id AS "userId", m.order_id AS "orderId", m.event, m.encrypted, r.encrypted AS recipient, m.attempts,
      m.created_at AS "createdAt", m.link_until IS NOT NULL AS "hasLink", coalesce(m.link_until <= ${queueNow}, false) AS "isOver",
      CASE WHEN earlier.due_at IS NOT NULL THEN greatest(${soonest}, earlier.due_at) END AS "blockedUntil",
      CASE WHEN m.order_id IS NULL AND m.attempts = 0 THEN (
        SELECT e.tried_at + interval '1 hour' FROM mails e
        WHERE e.user_id = m.user_id AND e.kind = m.kind AND e.tried_at > ${queueNow} - interval '1 hour' ORDER BY e.tried_at DESC OFFSET $2 - 1 LIMIT 1
      ) END AS "heldUntil"
    FROM due JOIN mails m USING (position) LEFT JOIN mail_recipients r ON m.order_id IS NOT NULL AND r.user_id = m.user_id
    CROSS JOIN LATERAL (SELECT CASE WHEN m.order_id IS NULL THEN (
      SELECT e.due_at FROM mails e WHERE e.user_id = m.user_id AND e.position < m.position AND e.order_id IS NULL AND e.ended_at IS NULL AND e.attempts = 0
        AND (e.kind = m.kind OR e.lease IS NOT NULL OR e.due_at <= ${queueNow})
      ORDER BY e.position LIMIT 1
    ) ELSE (
      SELECT e.due_at FROM mails e WHERE e.order_id = m.order_id AND e.position < m.position AND e.ended_at IS NULL ORDER BY e.position LIMIT 1
    ) END AS due_at) earlier
    ORDER BY m.order_id IS NOT NULL, m.due_at, m.position`,
};

export function takeDueMails(tx: Transaction, limit: number, perUserAndHour: number): Promise<DueMail[]> {
  return tx.query<DueMail>(takeDue, [limit, perUserAndHour]);
}

export function leaseMails(tx: Transaction, positions: readonly number[], lease: string, leaseMs: number): void {
  if (positions.length === 0) return;
  const text = `UPDATE mails SET state = 'pending', lease = $2, due_at = ${queueNow} + $3 * interval '1 millisecond' WHERE position = ANY ($1::bigint[])`;
  tx.send({ name: 'mails-lease', text }, [positions, lease, leaseMs]);
}

/** Makes mails due later, with the state that they have until then. */
export function postponeMails(tx: Transaction, mails: readonly { readonly position: number; readonly until: Date; readonly state: 'pending' | 'held' }[]): void {
  if (mails.length === 0) return;
  const text = `UPDATE mails m SET state = t.state, due_at = t.until, lease = NULL
    FROM unnest($1::bigint[], $2::timestamptz[], $3::text[]) AS t (position, until, state) WHERE m.position = t.position`;
  tx.send({ name: 'mails-postpone', text }, [mails.map(({ position }) => position), mails.map(({ until }) => until), mails.map(({ state }) => state)]);
}

/** Makes leased mails due again at once, without an attempt. */
export async function giveBackMails(tx: Transaction, lease: string, positions: readonly number[]): Promise<void> {
  await tx.execute(`UPDATE mails SET lease = NULL, due_at = ${queueNow} WHERE position = ANY ($1::bigint[]) AND lease = $2`, [positions, lease]);
}

// Outcomes

export interface MailOutcome {
  readonly state: 'pending' | 'sent' | 'failed';
  /** Before a pending mail is due again. */
  readonly pauseMs: number;
  /** Whether the mail server was asked. */
  readonly isAttempt: boolean;
  readonly masked: string | null;
  readonly error: string | null;
}

/** SQL: after the outcome the text is still needed. */
const keepsText = `$3 = 'pending' OR $3 = 'failed' AND link_until > ${queueNow}`;

/** The mail that waits for one that ended or was attempted is due now. The text of a failed mail stays while staff can send it again. */
const record: Statement = {
  name: 'mails-record',
  text: `
    WITH done AS (
      UPDATE mails m SET state = $3, attempts = attempts + $5::integer, tried_at = CASE WHEN $5::integer = 1 THEN ${queueNow} ELSE tried_at END, lease = NULL,
        due_at = CASE WHEN $3 = 'pending' THEN ${queueNow} + $4 * interval '1 millisecond' END, ended_at = CASE WHEN $3 <> 'pending' THEN now() END,
        masked = coalesce($6, masked), last_error = $7,
        key_id = CASE WHEN ${keepsText} THEN key_id END,
        encrypted = CASE WHEN ${keepsText} THEN encrypted END
      WHERE position = $1 AND lease = $2::uuid
      RETURNING position, user_id, order_id, ended_at
    ), next AS (
      UPDATE mails SET due_at = ${queueNow} WHERE position IN (
        SELECT min(w.position) FROM done JOIN mails w ON w.position > done.position AND w.state = 'pending' AND w.lease IS NULL
          AND CASE WHEN done.order_id IS NULL THEN w.user_id = done.user_id AND w.order_id IS NULL AND w.attempts = 0
            ELSE done.ended_at IS NOT NULL AND w.order_id = done.order_id END)
    )
    SELECT position FROM done`,
};

/**
 * Records the outcome of a mail, unless its lease is gone.
 * @returns whether it was recorded
 */
export async function recordMail(tx: Transaction, position: number, lease: string, { state, pauseMs, isAttempt, masked, error }: MailOutcome): Promise<boolean> {
  return (await tx.query(record, [position, lease, state, pauseMs, isAttempt ? 1 : 0, masked, error])).length === 1;
}

// Staff

const columns = `position, id, kind, user_id AS "userId", order_id AS "orderId", masked, state, attempts, created_at AS "createdAt",
  CASE WHEN lease IS NULL THEN due_at - ${queueAhead} END AS "nextAttemptAt", ended_at AS "endedAt", last_error AS "lastError"`;

/** Returns a page and one more, newest first. */
export function findMails(db: Reader, { state, kind, userId }: ListMails, { after, limit }: PageBounds): Promise<MailRecord[]> {
  return db.query<MailRecord>(
    `SELECT ${columns} FROM mails WHERE position < $1 AND ($2::text IS NULL OR state = $2) AND ($3::text IS NULL OR kind = $3) AND ($4::uuid IS NULL OR user_id = $4)
     ORDER BY position DESC LIMIT $5`,
    [after, state ?? null, kind ?? null, userId ?? null, limit + 1],
  );
}

/** What decides whether a mail can be sent again. */
export interface EndedMail extends MailRecord {
  readonly event: string | null;
  readonly encrypted: Buffer | null;
  readonly linkUntil: Date | null;
  readonly isOver: boolean;
  readonly hasRecipient: boolean;
}

/** Finds a mail and locks it until the transaction ends. */
export async function lockMail(tx: Transaction, id: string): Promise<EndedMail | undefined> {
  const [mail] = await tx.query<EndedMail>(
    `SELECT ${columns}, event, encrypted, link_until AS "linkUntil", coalesce(link_until <= ${queueNow}, false) AS "isOver",
       EXISTS (SELECT 1 FROM mail_recipients r WHERE r.user_id = m.user_id AND r.key_id IS NOT NULL) AS "hasRecipient"
     FROM mails m WHERE id = $1 FOR UPDATE OF m`,
    [id],
  );
  return mail;
}

/** Adds a copy of a mail, with a text of its own if it is about an account. */
export async function insertCopy(tx: Transaction, cipher: Cipher, id: string, { position, id: original, encrypted }: EndedMail): Promise<MailRecord> {
  const sealed = encrypted && cipher.encrypt(JSON.stringify(openMail(cipher, original, encrypted)), purposeOfMail(id));
  const rows = await tx.query<MailRecord>(
    `INSERT INTO mails (id, kind, user_id, order_id, event, key_id, encrypted, masked, link_until, due_at)
     SELECT $2, kind, user_id, order_id, event, $3, $4, CASE WHEN order_id IS NULL THEN masked END, link_until, ${queueNow} FROM mails WHERE position = $1
     RETURNING ${columns}`,
    [position, id, sealed?.keyId ?? null, sealed?.bytes ?? null],
  );
  return onlyRow(rows);
}

// Sweeps

/** Deletes the texts of failed mails whose links have ended. */
export function deleteTexts(tx: Transaction, limit: number): Promise<number> {
  return tx.execute(
    `UPDATE mails SET key_id = NULL, encrypted = NULL WHERE position IN (
       SELECT position FROM mails WHERE key_id IS NOT NULL AND ended_at IS NOT NULL AND link_until <= ${queueNow} LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    [limit],
  );
}

export function deleteEndedMails(tx: Transaction, keepMs: number, limit: number): Promise<number> {
  return tx.execute(
    `DELETE FROM mails WHERE position IN (
       SELECT position FROM mails WHERE ended_at <= now() - $1 * interval '1 millisecond' ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    [keepMs, limit],
  );
}

/** Deletes all mails of deleted users. Identity deletes their addresses (`saveRecipients`). */
export function deleteMailsOf(tx: Transaction, userIds: readonly string[]): Promise<number> {
  return tx.execute(
    `DELETE FROM mails WHERE position IN (SELECT position FROM mails WHERE user_id = ANY ($1::uuid[]) ORDER BY position FOR UPDATE)`,
    [userIds],
  );
}

/** Re-encrypts texts and addresses of former keys with the current key. Returns their number, at most `2 * limit`. */
export async function reencryptMails(tx: Transaction, cipher: Cipher, limit: number): Promise<number> {
  let count = 0;
  for (const { table, key, purposeOf } of [
    { table: 'mails', key: 'id', purposeOf: purposeOfMail },
    { table: 'mail_recipients', key: 'user_id', purposeOf: purposeOfRecipient },
  ]) {
    const former = await tx.query<{ id: string; bytes: Buffer }>(
      `SELECT ${key} AS id, encrypted AS bytes FROM ${table} WHERE key_id <> $1 AND key_id = ANY ($2) LIMIT $3 FOR UPDATE SKIP LOCKED`,
      [cipher.keyId, cipher.formerKeyIds, limit],
    );
    await tx.execute(
      `UPDATE ${table} AS old SET key_id = $1, encrypted = t.encrypted FROM unnest($2::uuid[], $3::bytea[]) AS t (id, encrypted) WHERE old.${key} = t.id`,
      [cipher.keyId, former.map(({ id }) => id), former.map(({ id, bytes }) => cipher.encrypt(cipher.decrypt(bytes, purposeOf(id)), purposeOf(id)).bytes)],
    );
    count += former.length;
  }
  return count;
}

/** The waiting mails of all replicas together. */
export interface MailBacklog {
  readonly waiting: number;
  /** Those that are due, and that no replica has. */
  readonly due: number;
  readonly held: number;
  readonly oldestSeconds: number;
  /** How long the first due mail has waited for a sender. */
  readonly overdueSeconds: number;
  /** Texts and addresses that are not encrypted with the current key. */
  readonly outdated: number;
}

export async function readMailBacklog(tx: Transaction, keyId: string): Promise<MailBacklog> {
  const counted = await tx.query<MailBacklog>(
    `SELECT (SELECT count(*) FROM mails WHERE due_at IS NOT NULL AND state = 'pending') AS waiting, (SELECT count(*) FROM mails WHERE due_at <= ${queueNow}) AS due,
       (SELECT count(*) FROM mails WHERE state = 'held') AS held,
       (SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 FROM mails WHERE due_at IS NOT NULL AND state = 'pending') AS "oldestSeconds",
       (SELECT coalesce(extract(epoch FROM ${queueNow} - min(due_at)), 0)::float8 FROM mails WHERE due_at <= ${queueNow}) AS "overdueSeconds",
       (SELECT count(*) FROM mails WHERE key_id <> $1) + (SELECT count(*) FROM mail_recipients WHERE key_id <> $1) AS outdated`,
    [keyId],
  );
  return onlyRow(counted);
}

// Mails about orders

const kindOf: readonly (readonly [MailKind, string])[] = [
  ['order-placed', `l.event_type = 'order.placed'`],
  ['order-paid', `l.event_type = 'order.status_changed' AND l.new_status = 'approved'`],
  ['order-shipped', `l.event_type = 'order.shipped'`],
  ['order-cancelled', `l.event_type = 'order.status_changed' AND l.new_status = 'cancelled'`],
  ['refund-due', `l.event_type = 'refund.due'`],
];

/** SQL: the kind of mail about event `l`; null if there is none. */
const kind = `CASE ${kindOf.map(([name, isIts]) => `WHEN ${isIts} THEN '${name}'`).join(' ')} END`;

/** SQL: a part of the log that a step may enqueue, or all of it if there is nothing to enqueue. */
const upTo = (wantsMail: string): string => `CASE WHEN ${wantsMail} THEN coalesce(
  (SELECT l.seq FROM event_log l WHERE l.seq > (SELECT after FROM at) AND l.seq <= (SELECT head FROM at) ORDER BY l.seq OFFSET $1 - 1 LIMIT 1),
  at.head) ELSE at.head END`;

/**
 * Locks the watermark, enqueues the mails of the next events and moves it, all in one statement. Events that are older than three days get no mail:
 * nobody wants to hear about an old order because mail was off. Nor do repetitions, which an earlier step has seen. The range is compared as values,
 * not joined: for a join the planner read the whole log, also when nothing was new.
 */
const enqueue: Statement = {
  name: 'mails-enqueue',
  text: `
    WITH at AS MATERIALIZED (
      SELECT m.watermark AS after, f.watermark AS head FROM mail_watermark m, feed_watermark f WHERE m.watermark < f.watermark FOR UPDATE OF m SKIP LOCKED
    ), range AS MATERIALIZED (
      SELECT at.*, ${upTo('$2 AND EXISTS (SELECT 1 FROM mail_recipients WHERE key_id IS NOT NULL)')} AS up_to FROM at
    ), moved AS (
      UPDATE mail_watermark SET watermark = range.up_to FROM range
    ), added AS (
      INSERT INTO mails (id, kind, user_id, order_id, event, due_at)
      SELECT l.event_id, ${kind}, l.subject, l.order_id, l.body, ${queueNow}
      FROM event_log l JOIN mail_recipients r ON r.user_id = l.subject AND r.key_id IS NOT NULL
      WHERE $2 AND l.seq > (SELECT after FROM range) AND l.seq <= (SELECT up_to FROM range) AND ${kind} IS NOT NULL AND NOT l.repeats AND l.logged_at > now() - interval '3 days'
      ORDER BY l.seq ON CONFLICT (id) DO NOTHING RETURNING 1
    )
    SELECT (SELECT count(*) FROM added) AS count, range.up_to < range.head AS "hasMore" FROM range`,
};

/**
 * Enqueues the mails of the next events of the log.
 * @param events the most events of a step
 * @param isOn false if the shop sends no mail: then the events pass without
 * @returns undefined if there are no new events, or another replica enqueues
 */
export async function enqueueOrderMails(tx: Transaction, events: number, isOn: boolean): Promise<{ readonly count: number; readonly hasMore: boolean } | undefined> {
  return (await tx.query<{ count: number; hasMore: boolean }>(enqueue, [events, isOn]))[0];
}

