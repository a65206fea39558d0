import type { Reader, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { RowsParameter } from '@plant-shop/platform/postgres/rows';
import type { BasketState } from './basket.js';

const find: Statement = {
  name: 'find-basket',
  text: 'SELECT id, owner_id AS "ownerId", external_id AS "externalId", metadata, placed_at AS "placedAt" FROM baskets WHERE id = $1',
};

export async function findBasket(db: Reader, basketId: number): Promise<BasketState | undefined> {
  const [basket] = await db.query<BasketState>(find, [basketId]);
  return basket;
}

const written = new RowsParameter<BasketState>(
  ['id', 'bigint', ({ id }) => id],
  ['owner_id', 'uuid', ({ ownerId }) => ownerId],
  ['external_id', 'text', ({ externalId }) => externalId],
  ['metadata', 'jsonb', ({ metadata }) => metadata && JSON.stringify(metadata)],
  ['placed_at', 'timestamptz', ({ placedAt }) => placedAt.toISOString()],
);
const write: Statement = { name: 'write-baskets', text: `INSERT INTO baskets (${written.names}) SELECT * FROM ${written.from()}` };

/** Writes new baskets, in the transaction that writes their orders. */
export function writeBaskets(tx: Transaction, baskets: readonly BasketState[]): void {
  if (baskets.length > 0) tx.send(write, written.values(baskets));
}
