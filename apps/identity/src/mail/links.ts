import type { Reader, Transaction } from '@plant-shop/platform/postgres/database';
import { newSecret, sha256 } from '../secrets/secrets.js';

/** What the link of a mail is good for. */
export type LinkPurpose = 'verify-address' | 'recovery';

/** How long a link works, in minutes. */
export const linkMinutes: Readonly<Record<LinkPurpose, number>> = { 'verify-address': 24 * 60, recovery: 15 };

/** Links of a user that work at the same time, which bounds the mails to one mailbox. Another request makes none: none of them ends early. */
const maxLive = 10;

/** What a link is bound to: it ends when this changes. */
const boundTo: Readonly<Record<LinkPurpose, string>> = {
  'verify-address': `pg_catalog.sha256(convert_to(u.email, 'UTF8'))`,
  recovery: `pg_catalog.sha256(convert_to(u.password_hash || ' ' || u.email, 'UTF8'))`,
};

const works = (purpose: LinkPurpose): string =>
  `l.code_hash = $1 AND l.purpose = '${purpose}' AND l.expires_at > now() AND l.bound_to = ${boundTo[purpose]}${purpose === 'recovery' ? ' AND u.email_verified_at IS NOT NULL' : ''}`;

/**
 * Makes a link for each of these users, except those who have too many, have no address, or were deleted.
 * @returns the codes of the links by user; they are stored only as hashes
 */
export async function createLinks(tx: Transaction, userIds: readonly string[], purpose: LinkPurpose): Promise<ReadonlyMap<string, string>> {
  const codes = new Map(userIds.map((userId) => [userId, newSecret()]));
  const inserted = await tx.query<{ userId: string }>(
    `INSERT INTO one_time_links (code_hash, user_id, purpose, bound_to, expires_at)
     SELECT t.code_hash, u.user_id, '${purpose}', ${boundTo[purpose]}, now() + $3 * interval '1 minute'
     FROM unnest($1::bytea[], $2::uuid[]) AS t (code_hash, user_id) JOIN users u USING (user_id)
     WHERE u.email IS NOT NULL AND $4 >
       (SELECT count(*) FROM one_time_links l WHERE l.user_id = u.user_id AND l.purpose = '${purpose}' AND l.expires_at > now())
     RETURNING user_id AS "userId"`,
    [[...codes.values()].map(sha256), [...codes.keys()], linkMinutes[purpose], maxLive],
  );
  return new Map(inserted.map(({ userId }) => [userId, codes.get(userId) ?? '']));
}

/** Returns whose link this is, if it works. */
export async function findLink(db: Reader, purpose: LinkPurpose, code: string): Promise<{ userId: string; username: string; email: string } | undefined> {
  const [found] = await db.query<{ userId: string; username: string; email: string }>(
    `SELECT u.user_id AS "userId", u.username, u.email FROM one_time_links l JOIN users u USING (user_id) WHERE ${works(purpose)}`,
    [sha256(code)],
  );
  return found;
}

/** Uses a link up, with the others of its user for the same purpose. The caller must hold the user's row. @returns false if it does not work */
export async function useLink(tx: Transaction, purpose: LinkPurpose, code: string): Promise<boolean> {
  const ended = await tx.execute(
    `WITH used AS (SELECT u.user_id FROM one_time_links l JOIN users u USING (user_id) WHERE ${works(purpose)})
     DELETE FROM one_time_links l USING used WHERE l.user_id = used.user_id AND l.purpose = '${purpose}'`,
    [sha256(code)],
  );
  return ended > 0;
}

export function deleteExpiredLinks(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM one_time_links WHERE expires_at < now()');
}
