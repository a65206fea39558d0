import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { ComparedPlant } from './drift.js';

type Reader = Pick<Transaction, 'query'>;

/** Lists plants by ascending id. */
export function findPlantsToCompare(db: Reader, after: number, limit: number): Promise<ComparedPlant[]> {
  return db.query(
    `SELECT plants.id, plants.incarnation, plants.version, plants.status,
       stock_intents.incarnation IS NOT NULL AS "hasIntent"
     FROM plants LEFT JOIN stock_intents ON stock_intents.incarnation = plants.incarnation
     WHERE plants.id > $1 ORDER BY plants.id LIMIT $2`,
    [after, limit],
  );
}
