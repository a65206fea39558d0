import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { RowsParameter } from '@plant-shop/platform/postgres/rows';
import type { OrderState } from './order.js';

// What owners add to their orders: external ids, and metadata by which lists are filtered.

export const jsonOf = (value: object | null): string | null => value && JSON.stringify(value);

/** An external id, if there is one, and the owner whose orders, or baskets, it is unique among. */
export interface ExternalIdClaim {
  readonly ownerId: string;
  readonly externalId: string | null;
}

/** Classes of advisory locks. */
const locks = { orders: 4, baskets: 5 };
const claimed = new RowsParameter<ExternalIdClaim>(['owner_id', 'uuid', ({ ownerId }) => ownerId], ['external_id', 'text', ({ externalId }) => externalId]);

/** The orders, or the baskets, that have external ids. */
export class ExternalIds {
  private readonly ids = new Map<string, number>();

  /** Locks external ids until the transaction ends, since a new one has no row to lock, and finds what has them. */
  static async claim(tx: Transaction, kind: 'orders' | 'baskets', claims: readonly ExternalIdClaim[]): Promise<ExternalIds> {
    const found = new ExternalIds();
    const wanted = claims.filter(({ externalId }) => externalId !== null);
    if (wanted.length === 0) return found;
    const lock = `SELECT count(pg_advisory_xact_lock(${locks[kind]}, hash)) FROM (
      SELECT DISTINCT hashtext(owner_id || ' ' || external_id) AS hash FROM ${claimed.from()} ORDER BY hash
    ) AS sorted`;
    tx.send({ name: `lock-external-ids-of-${kind}`, text: lock }, claimed.values(wanted));
    // A separate statement: the snapshot of the one above is older than its lock waits.
    const find = `SELECT id, owner_id AS "ownerId", external_id AS "externalId" FROM ${kind} JOIN ${claimed.from()} USING (owner_id, external_id)
      WHERE ${kind}.external_id IS NOT NULL`;
    const rows = await tx.query<ExternalIdClaim & { id: number }>({ name: `find-external-ids-of-${kind}`, text: find }, claimed.values(wanted));
    for (const { id, ...claim } of rows) found.add(claim, id);
    return found;
  }

  /** @returns undefined: nothing has the external id, or there is none */
  find(claim: ExternalIdClaim): number | undefined {
    return this.ids.get(keyOf(claim));
  }

  add(claim: ExternalIdClaim, id: number): void {
    if (claim.externalId !== null) this.ids.set(keyOf(claim), id);
  }
}

const keyOf = ({ ownerId, externalId }: ExternalIdClaim): string => `${ownerId} ${externalId}`;

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
