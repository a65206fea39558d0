import { Controller, Injectable } from '@nestjs/common';
import { broadcasts } from '@plant-shop/contracts/broker';
import { identity, type ReadRevocations, type Revocation, type Revocations } from '@plant-shop/contracts/identity';
import { Nats } from '@plant-shop/platform/nats';
import { Database, type Reader, type Statement, type Transaction } from '@plant-shop/platform/postgres/database';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';

/** What a log entry revokes, without the entry's position. */
export type RevocationTarget = Pick<Revocation, 'kind' | 'id'>;

/**
 * Appends to the log. Wait for no other lock after it: it locks the head row, so other revoking transactions wait until the
 * commit. That keeps positions dense and commits them in order.
 */
export async function appendRevocations(tx: Transaction, revoked: readonly RevocationTarget[]): Promise<void> {
  if (revoked.length === 0) return;
  await tx.execute(
    `WITH head AS (UPDATE revocation_head SET position = position + $1::bigint RETURNING position)
     INSERT INTO revocations (position, kind, id)
     SELECT head.position - $1::bigint + r.n, r.kind, r.id
     FROM head, unnest($2::text[], $3::text[]) WITH ORDINALITY AS r (kind, id, n)`,
    [revoked.length, revoked.map((one) => one.kind), revoked.map((one) => one.id)],
  );
}

/**
 * A restored database has another file for the table (`pg_restore`, VACUUM FULL), another oid (a new database), or another
 * server process (a restored data folder, a promoted replica, any restart).
 */
const epochOfDatabase = `
  md5(concat_ws(' ',
    extract(epoch FROM pg_postmaster_start_time()),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    pg_relation_filenode('revocations')))`;

/**
 * A new follower begins two hours ago, twice as long as access tokens live, or 10,000 entries ago if that is
 * earlier: it remembers them in case of a restore. Older ones revoke nothing that it could accept.
 */
const begin = `
  least(head.position - 10000,
    coalesce((SELECT position FROM revocations WHERE at < now() - interval '2 hours' ORDER BY at DESC LIMIT 1), 0))`;

const read: Statement = {
  name: 'read-revocations',
  text: `
    SELECT head.position AS head, r.position, r.kind, r.id,
      coalesce(r.entry_id, (SELECT entry_id FROM revocations WHERE position = head.position)) AS "entryId",
      $2::uuid IS NULL OR EXISTS (SELECT 1 FROM revocations WHERE position = $1 AND entry_id = $2) AS matches,
      ${epochOfDatabase} AS epoch,
      round(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS time
    FROM revocation_head head
    LEFT JOIN LATERAL (
      SELECT position, kind, id, entry_id FROM revocations
      WHERE position > CASE WHEN $1 > 0 THEN $1 ELSE ${begin} END ORDER BY position LIMIT 1000
    ) r ON true
    WHERE head.only_row
    ORDER BY r.position`,
};

interface Row extends Revocation {
  readonly head: number;
  readonly entryId: string | null;
  readonly matches: boolean;
  readonly epoch: string;
  readonly time: number;
}

/** Reads head and entries in one snapshot, so no entry at or below the head is missing. */
export async function readRevocations(db: Reader, { after, afterId }: ReadRevocations): Promise<Revocations> {
  const rows = await db.query<Row>(read, [after, afterId ?? null]);
  const [first, last] = [rows[0], rows.at(-1)];
  if (!first || !last) throw new Error('the revocation log has no head');
  const entries = rows.flatMap(({ position, kind, id }) =>
    (position as number | null) === null ? [] : [{ position, kind, id }],
  );
  const { head, matches, epoch, time } = first;
  return { head, entries, matches, epoch, time, ...(last.entryId !== null && { lastId: last.entryId }) };
}

/** Returns whether the log contains an entry for any of these. */
export async function areRevoked(db: Reader, entries: readonly RevocationTarget[]): Promise<boolean> {
  const found = await db.query(
    `SELECT 1 FROM revocations r JOIN unnest($1::text[], $2::text[]) AS t (kind, id) USING (kind, id) LIMIT 1`,
    [entries.map((one) => one.kind), entries.map((one) => one.id)],
  );
  return found.length > 0;
}

/**
 * Deletes entries older than 48 hours. A follower may lag by that much without missing an entry; access tokens live one hour.
 * The entry at the head stays, so that up-to-date followers can always detect a restored log.
 */
export function deleteOldRevocations(tx: Transaction): Promise<number> {
  return tx.execute(
    `DELETE FROM revocations WHERE at < now() - interval '48 hours' AND position < (SELECT position FROM revocation_head)`,
  );
}

@Injectable()
export class RevocationsService {
  constructor(
    private readonly database: Database,
    private readonly nats: Nats,
  ) {}

  read(request: ReadRevocations): Promise<Revocations> {
    return readRevocations(this.database, request);
  }

  /**
   * Tells followers after the commit. A lost message delays them by at most one pull interval (250 ms); without NATS they cannot
   * follow at all.
   */
  publish(): void {
    if (this.nats.isUp) this.nats.connection.publish(broadcasts.revocations.subject);
  }
}

@Controller()
export class RevocationsController {
  constructor(private readonly revocations: RevocationsService) {}

  @Answers(identity.readRevocations)
  readRevocations(request: ReadRevocations): Promise<Revocations> {
    return this.revocations.read(request);
  }
}
