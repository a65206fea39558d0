import type { Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { ComparedPlant } from './drift.js';

type Reader = Pick<Transaction, 'query'>;

/** By ascending id. */
export function findPlantsToCompare(db: Reader, after: number, limit: number): Promise<ComparedPlant[]> {
  return db.query(
    `SELECT plants.id, plants.incarnation, plants.version, plants.status,
       stock_intents.incarnation IS NOT NULL AS "isUnderWay"
     FROM plants LEFT JOIN stock_intents ON stock_intents.incarnation = plants.incarnation
     WHERE plants.id > $1 ORDER BY plants.id LIMIT $2`,
    [after, limit],
  );
}

/** For stock whose plant is not here any more, so that no intent can stand for it. */
export async function drawRetireAttempt(tx: Transaction): Promise<number> {
  return onlyRow(await tx.query<{ attempt: number }>(`SELECT nextval('retire_attempts') AS attempt`)).attempt;
}
