import type { Revocation, Revocations } from '@plant-shop/contracts/identity';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';

type Reader = Pick<Transaction, 'query'>;

/** What is revoked; its position is given when it is appended. */
export type Revoked = Pick<Revocation, 'kind' | 'id'>;

/**
 * Appends to the log, as the last step of the transaction that revokes: from here to its end all others that revoke
 * wait for the head row, which is what makes positions dense and commit in their order.
 */
export async function appendRevocations(tx: Transaction, revoked: readonly Revoked[]): Promise<void> {
  if (revoked.length === 0) return;
  await tx.execute(
    `WITH head AS (UPDATE revocation_head SET position = position + $1::bigint RETURNING position)
     INSERT INTO revocations (position, kind, id)
     SELECT head.position - $1::bigint + r.n, r.kind, r.id
     FROM head, unnest($2::text[], $3::text[]) WITH ORDINALITY AS r (kind, id, n)`,
    [revoked.length, revoked.map((one) => one.kind), revoked.map((one) => one.id)],
  );
}

const read: Statement = {
  name: 'read-revocations',
  text: `
    SELECT head.position AS head, r.position, r.kind, r.id
    FROM revocation_head head
    LEFT JOIN LATERAL (
      SELECT position, kind, id FROM revocations WHERE position > $1 ORDER BY position LIMIT 1000
    ) r ON true
    ORDER BY r.position`,
};

/** Head and entries of one snapshot: an entry at or below the head is never missing. */
export async function readRevocations(db: Reader, after: number): Promise<Revocations> {
  const rows = await db.query<Revocation & { head: number }>(read, [after]);
  const [first] = rows;
  if (!first) throw new Error('the revocation log has no head');
  const entries = rows.flatMap(({ position, kind, id }) =>
    (position as number | null) === null ? [] : [{ position, kind, id }],
  );
  return { head: first.head, entries };
}

/** Whether any of these is in the log. */
export async function areRevoked(db: Reader, entries: readonly Revoked[]): Promise<boolean> {
  const found = await db.query(
    `SELECT 1 FROM revocations r JOIN unnest($1::text[], $2::text[]) AS t (kind, id) USING (kind, id) LIMIT 1`,
    [entries.map((one) => one.kind), entries.map((one) => one.id)],
  );
  return found.length > 0;
}

/** A follower may be behind by this much and still find every entry; access tokens live one hour. */
export function deleteOldRevocations(tx: Transaction): Promise<number> {
  return tx.execute(`DELETE FROM revocations WHERE at < now() - interval '48 hours'`);
}
