import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { RowsParameter } from '@plant-shop/platform/postgres/rows';
import type { OrderState } from './order.js';

// What owners add to their orders: external ids, and metadata by which lists are filtered.

export const jsonOf = (value: object | null): string | null => value && JSON.stringify(value);

/** An external id and the owner whose orders it is unique among. */
interface ExternalIdClaim {
  readonly ownerId: string;
  readonly externalId: string;
}

export const externalIdKey = ({ ownerId, externalId }: ExternalIdClaim): string => `${ownerId} ${externalId}`;

const lockExternalIds: Statement = {
  name: 'lock-external-ids',
  text: `SELECT count(pg_advisory_xact_lock(4, hash)) FROM (SELECT DISTINCT hashtext(claim) AS hash FROM unnest($1::text[]) AS claim ORDER BY hash) AS sorted`,
};
const findExternalIds: Statement = {
  name: 'find-external-ids',
  text: `SELECT id, owner_id AS "ownerId", external_id AS "externalId" FROM unnest($1::uuid[], $2::text[]) AS claim (owner_id, external_id)
         JOIN orders USING (owner_id, external_id) WHERE orders.external_id IS NOT NULL`,
};

/**
 * Locks external ids until the transaction ends, since a new one has no row to lock.
 * @returns the orders that have them, by `externalIdKey`
 */
export async function claimExternalIds(tx: Transaction, claims: readonly ExternalIdClaim[]): Promise<Map<string, number>> {
  if (claims.length === 0) return new Map();
  tx.send(lockExternalIds, [claims.map(externalIdKey)]);
  // A separate statement: the snapshot of the one above is older than its lock waits.
  const rows = await tx.query<ExternalIdClaim & { id: number }>(findExternalIds, [claims.map((one) => one.ownerId), claims.map((one) => one.externalId)]);
  return new Map(rows.map((row) => [externalIdKey(row), row.id]));
}

/** SQL: what `order_metadata` has of a pair. Lists compare the pair itself, too. */
export const pairHash = (key: string, value: string): string => `hashtextextended(${key} || '=' || ${value}, 0)`;

const metadataRows = new RowsParameter<OrderState>(
  ['id', 'bigint', ({ id }) => id],
  ['owner_id', 'uuid', ({ ownerId }) => ownerId],
  ['metadata', 'jsonb', ({ metadata }) => jsonOf(metadata)],
);
const writeMetadata: Statement = {
  name: 'write-order-metadata',
  text: `INSERT INTO order_metadata (pair, owner_id, placed_at, order_id)
         SELECT ${pairHash('key', 'value')}, owner_id, $1, id FROM ${metadataRows.from(2)} CROSS JOIN jsonb_each_text(metadata)`,
};

/** Makes orders that were placed at one time findable by their metadata. */
export function indexMetadata(tx: Transaction, orders: readonly OrderState[]): void {
  const withMetadata = orders.filter(({ metadata }) => metadata !== null);
  const [first] = withMetadata;
  if (first) tx.send(writeMetadata, [first.placedAt, ...metadataRows.values(withMetadata)]);
}

const moveMetadata: Statement = {
  name: 'move-order-metadata',
  text: `UPDATE order_metadata SET owner_id = $2 FROM jsonb_each_text($3::jsonb)
         WHERE owner_id = $1 AND pair = ${pairHash('key', 'value')} AND placed_at = $4 AND order_id = $5`,
};

/** Makes a transferred order findable among the new owner's. */
export function transferMetadata(tx: Transaction, { id, metadata, ownerId, placedAt }: OrderState, to: string): void {
  if (metadata) tx.send(moveMetadata, [ownerId, to, jsonOf(metadata), placedAt, id]);
}
