import { firstAssignedId } from '@plant-shop/contracts/fields';
import type { HighestNumbers, KnownCustomer, KnownStock } from '@plant-shop/contracts/reconcile';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

type Reader = Pick<Transaction, 'query'>;

/**
 * Reads the highest numbers that the store knows. The catalog draws a version with each plant id that it assigns, so an assigned
 * id is at most the first assigned id plus the highest version. Without this bound, one id that a client chose near 2^53 would
 * leave no ids to assign.
 */
export async function readHighestNumbers(db: Reader): Promise<HighestNumbers> {
  return onlyRow(
    await db.query<HighestNumbers>(
      `WITH of_plants AS MATERIALIZED (
         SELECT coalesce(max(greatest(incarnation, listing_version)), 0) AS version,
                coalesce(max(refused_attempt), 0) AS attempt
         FROM stock
       )
       SELECT of_plants.version AS "plantVersion", attempt AS "retireAttempt",
         (SELECT coalesce(max(plant_id), 0) FROM stock
          WHERE plant_id >= $1 AND plant_id <= $1::bigint + of_plants.version) AS "assignedPlantId",
         (SELECT coalesce(max(refused_attempt), 0) FROM customers) AS "closeAttempt"
       FROM of_plants`,
      [firstAssignedId],
    ),
  );
}

export function findAllStock(db: Reader, after: number, limit: number): Promise<KnownStock[]> {
  return db.query(
    `SELECT plant_id AS "plantId", incarnation, listing, listing_version AS "listingVersion"
     FROM stock WHERE plant_id > $1 ORDER BY plant_id LIMIT $2`,
    [after, limit],
  );
}

export function findCustomers(db: Reader, after: string, limit: number): Promise<KnownCustomer[]> {
  return db.query(
    `SELECT user_id AS "userId", closed FROM customers WHERE user_id > $1 ORDER BY user_id LIMIT $2`,
    [after, limit],
  );
}
