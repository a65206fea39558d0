import type { Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { ComparedUser } from './drift.js';

type Reader = Pick<Transaction, 'query'>;

export function findUsersToCompare(db: Reader, userIds: readonly string[]): Promise<ComparedUser[]> {
  return db.query(
    `SELECT users.user_id AS "userId", users.username, user_deletions.user_id IS NOT NULL AS "isBeingDeleted"
     FROM users LEFT JOIN user_deletions ON user_deletions.user_id = users.user_id
     WHERE users.user_id = ANY($1::uuid[])`,
    [userIds],
  );
}

/** Draws an attempt number for a customer whose user is missing, so that no intent can be recorded. */
export async function drawDeletionAttempt(tx: Transaction): Promise<number> {
  return onlyRow(await tx.query<{ attempt: number }>(`SELECT nextval('deletion_attempts') AS attempt`)).attempt;
}
