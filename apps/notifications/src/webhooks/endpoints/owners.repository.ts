import type { Transaction } from '@plant-shop/platform/postgres/database';
import { deleteWebhooks } from './webhooks.repository.js';

type Reader = Pick<Transaction, 'query'>;

/** A user with webhooks. */
export interface Owner {
  readonly id: string;
  /** At least one of the webhooks was created for all orders, so what it sees depends on the owner's permissions. */
  readonly hasAllOrders: boolean;
}

/** Returns those of these users that have webhooks. */
export function ownersAmong(db: Reader, userIds: readonly string[]): Promise<Owner[]> {
  return db.query<Owner>(
    `SELECT owner_id AS id, bool_or(made_for_all) AS "hasAllOrders" FROM webhooks
     WHERE owner_id = ANY($1) AND state <> 'deleted' GROUP BY owner_id`,
    [userIds],
  );
}

/** Returns a page of owners, by ascending id. */
export function findOwners(db: Reader, after: string | undefined, limit: number): Promise<Owner[]> {
  return db.query<Owner>(
    `SELECT owner_id AS id, bool_or(made_for_all) AS "hasAllOrders" FROM webhooks
     WHERE state <> 'deleted' AND ($1::uuid IS NULL OR owner_id > $1) GROUP BY owner_id ORDER BY owner_id LIMIT $2`,
    [after ?? null, limit],
  );
}

/** Sets whether the owner's webhooks of all orders see all orders. Returns the number of webhooks that changed. */
export function updateVisibility(tx: Transaction, ownerId: string, mayReadAll: boolean): Promise<number> {
  return tx.execute(
    `UPDATE webhooks SET sees_all = made_for_all AND $2
     WHERE owner_id = $1 AND state <> 'deleted' AND sees_all <> (made_for_all AND $2)`,
    [ownerId, mayReadAll],
  );
}

export async function deleteWebhooksOf(tx: Transaction, ownerId: string): Promise<number> {
  const rows = await tx.query<{ id: string }>(`SELECT id FROM webhooks WHERE owner_id = $1 AND state <> 'deleted'`, [ownerId]);
  return rows.length === 0 ? 0 : deleteWebhooks(tx, rows.map((row) => row.id));
}
