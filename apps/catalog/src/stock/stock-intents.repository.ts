import type { Actor } from '@plant-shop/platform/audit/audit-log';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { PendingPlant, StockIntent } from './stock-intent.js';

type Reader = Pick<Transaction, 'query'>;

const columns = `stock_intents.incarnation, opens, units, lists_version AS "listsVersion",
  retire_attempt AS "retireAttempt"`;

// The end of a lease: until then only the request or the loop that wrote or took the row works on it.
const leased = (parameter: string): string => `now() + ${parameter} * interval '1 millisecond'`;

const open: Statement = {
  name: 'intend-to-open',
  text: `INSERT INTO stock_intents (incarnation, opens, units, next_try_at) VALUES ($1, true, $2, ${leased('$3')})`,
};

export async function intendToOpen(
  tx: Transaction,
  incarnation: number,
  units: number | null,
  leaseMs: number,
): Promise<void> {
  await tx.execute(open, [incarnation, units, leaseMs]);
}

/** `intendToOpen` for several plants. */
export function intendToOpenAll(
  tx: Transaction,
  plants: readonly { readonly incarnation: number; readonly units: number | null }[],
  leaseMs: number,
): void {
  tx.send(
    {
      name: 'intend-to-open-all',
      text: `INSERT INTO stock_intents (incarnation, opens, units, next_try_at)
             SELECT t.incarnation, true, t.units, ${leased('$3')} FROM unnest($1::bigint[], $2::bigint[]) AS t (incarnation, units)`,
    },
    [plants.map(({ incarnation }) => incarnation), plants.map(({ units }) => units), leaseMs],
  );
}

const list: Statement = {
  name: 'intend-to-list',
  text: `INSERT INTO stock_intents (incarnation, opens, lists_version, next_try_at)
         VALUES ($1, false, $2, ${leased('$3')}) ON CONFLICT (incarnation) DO UPDATE SET lists_version = $2`,
};

export async function intendToList(
  tx: Transaction,
  incarnation: number,
  version: number,
  leaseMs: number,
): Promise<void> {
  await tx.execute(list, [incarnation, version, leaseMs]);
}

/** Starts a new attempt at deleting the plant, beside attempts in progress. @returns the attempt's number */
export async function intendToRetire(
  tx: Transaction,
  incarnation: number,
  askedBy: Actor,
  leaseMs: number,
): Promise<number> {
  const { attempt } = onlyRow(
    await tx.query<{ attempt: number }>(
      `INSERT INTO stock_intents (incarnation, opens, retire_attempt, asked_by, next_try_at)
       VALUES ($1, false, nextval('retire_attempts'), $2, ${leased('$3')})
       ON CONFLICT (incarnation) DO UPDATE
         -- Draws again: while this statement waited for the row, a loop may have drawn a higher number than the one above.
         SET retire_attempt = nextval('retire_attempts'), asked_by = excluded.asked_by, next_try_at = excluded.next_try_at
       RETURNING retire_attempt AS attempt`,
      [incarnation, JSON.stringify(askedBy), leaseMs],
    ),
  );
  return attempt;
}

/** Returns the actor who last asked for the deletion. Call it before deleting the plant, which deletes the intent too. */
export async function findDeletionActor(tx: Transaction, incarnation: number): Promise<Actor | undefined> {
  const [intent] = await tx.query<{ askedBy: Actor | null }>(
    'SELECT asked_by AS "askedBy" FROM stock_intents WHERE incarnation = $1',
    [incarnation],
  );
  return intent?.askedBy ?? undefined;
}

// Incarnations and versions come from one sequence, so a later plant with the same id has an incarnation above `version`.
const pending: Statement = {
  name: 'find-pending-plant',
  text: `
    SELECT plants.id, plants.version, plants.status, ${columns}
    FROM plants JOIN stock_intents ON stock_intents.incarnation = plants.incarnation
    WHERE plants.id = $1 AND plants.incarnation <= $2 AND (opens OR lists_version IS NOT NULL)`,
};

/** Finds the pending opening or listing of the plant that had this version. */
export async function findPendingPlant(tx: Transaction, plantId: number, version: number): Promise<PendingPlant | undefined> {
  const [plant] = await tx.query<PendingPlant>(pending, [plantId, version]);
  return plant;
}

/** Finds the pending openings and listings of the plants with these ids. */
export function findPendingPlants(tx: Transaction, plantIds: readonly number[]): Promise<PendingPlant[]> {
  return tx.query<PendingPlant>(
    {
      name: 'find-pending-plants',
      text: `
        SELECT plants.id, plants.version, plants.status, ${columns}
        FROM plants JOIN stock_intents ON stock_intents.incarnation = plants.incarnation
        WHERE plants.id = ANY($1) AND (opens OR lists_version IS NOT NULL) ORDER BY plants.id`,
    },
    [plantIds],
  );
}

/** Deletes acknowledged openings, except those to which a listing or a deletion was added meanwhile. */
export async function deleteOpenings(tx: Transaction, incarnations: readonly number[]): Promise<void> {
  await tx.execute(
    {
      name: 'delete-openings',
      text: `DELETE FROM stock_intents WHERE opens AND lists_version IS NULL AND retire_attempt IS NULL AND incarnation IN (
               SELECT incarnation FROM stock_intents WHERE incarnation = ANY($1) ORDER BY incarnation FOR UPDATE)`,
    },
    [incarnations],
  );
}

export async function lockIntent(tx: Transaction, incarnation: number): Promise<StockIntent | undefined> {
  const [intent] = await tx.query<StockIntent>(
    { name: 'lock-intent', text: `SELECT ${columns} FROM stock_intents WHERE incarnation = $1 FOR UPDATE` },
    [incarnation],
  );
  return intent;
}

export async function writeIntent(tx: Transaction, intent: StockIntent): Promise<void> {
  await tx.execute(
    'UPDATE stock_intents SET opens = $2, lists_version = $3, retire_attempt = $4 WHERE incarnation = $1',
    [intent.incarnation, intent.opens, intent.listsVersion, intent.retireAttempt],
  );
}

export async function deleteIntent(tx: Transaction, incarnation: number): Promise<void> {
  await tx.execute({ name: 'delete-intent', text: 'DELETE FROM stock_intents WHERE incarnation = $1' }, [incarnation]);
}

/** Ends a lease early, so that the background loop takes the intent at once. */
export async function releaseLease(tx: Transaction, incarnation: number): Promise<void> {
  await tx.execute('UPDATE stock_intents SET next_try_at = now() WHERE incarnation = $1', [incarnation]);
}

// Each retry of a deletion is a new attempt. The pause grows with the tries, from 5 to 30 seconds.
const takeDue: Statement = {
  name: 'take-due-intents',
  text: `
    WITH due AS MATERIALIZED (
      SELECT incarnation FROM stock_intents WHERE next_try_at <= now() ORDER BY next_try_at LIMIT $1 FOR UPDATE SKIP LOCKED
    )
    UPDATE stock_intents SET
      tries = tries + 1,
      next_try_at = now() + least(5 * (tries + 1), 30) * interval '1 second',
      retire_attempt = CASE WHEN retire_attempt IS NOT NULL THEN nextval('retire_attempts') END
    FROM due, plants
    WHERE stock_intents.incarnation = due.incarnation AND plants.incarnation = due.incarnation
    RETURNING plants.id, plants.version, plants.status, ${columns}`,
};

/** Leases at most `limit` due intents for at least 5 seconds, so that two replicas never process the same one. */
export function leaseDueIntents(db: Reader, limit: number): Promise<PendingPlant[]> {
  return db.query<PendingPlant>(takeDue, [limit]);
}
