import type { Transaction } from '@plant-shop/platform/postgres/database';
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
