import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { RowsParameter } from '@plant-shop/platform/postgres/rows';
import type { BasketState } from './basket.js';

type Reader = Pick<Transaction, 'query'>;

const find: Statement = {
  name: 'find-basket',
  text: 'SELECT id, owner_id AS "ownerId", external_id AS "externalId", metadata, placed_at AS "placedAt" FROM baskets WHERE id = $1',
};

export async function findBasket(db: Reader, basketId: number): Promise<BasketState | undefined> {
  const [basket] = await db.query<BasketState>(find, [basketId]);
  return basket;
}

/** An external id, as a customer gave it to a basket. */
export interface BasketName {
  readonly ownerId: string;
  readonly externalId: string;
}

const names = new RowsParameter<BasketName>(['owner_id', 'uuid', ({ ownerId }) => ownerId], ['external_id', 'text', ({ externalId }) => externalId]);

const lockNames: Statement = {
  name: 'lock-names-of-baskets',
  text: `SELECT count(pg_advisory_xact_lock(5, hash)) FROM (
    SELECT DISTINCT hashtext(owner_id || ' ' || external_id) AS hash FROM ${names.from()} ORDER BY hash
  ) AS sorted`,
};
const findNames: Statement = {
  name: 'find-names-of-baskets',
  text: `SELECT id, owner_id AS "ownerId", external_id AS "externalId" FROM baskets JOIN ${names.from()} USING (owner_id, external_id)`,
};

/** The baskets of customers by their external ids. */
export class NamedBaskets {
  private readonly ids = new Map<string, number>();

  /** Locks external ids until the transaction ends, since a new one has no row to lock, and finds the baskets that have them. */
  static async lockAndFind(tx: Transaction, wanted: readonly BasketName[]): Promise<NamedBaskets> {
    const found = new NamedBaskets();
    if (wanted.length === 0) return found;
    tx.send(lockNames, names.values(wanted));
    // A separate statement: the snapshot of the one above is older than its lock waits.
    for (const { id, ...name } of await tx.query<BasketName & { id: number }>(findNames, names.values(wanted))) found.add(name, id);
    return found;
  }

  find(name: BasketName): number | undefined {
    return this.ids.get(keyOf(name));
  }

  add(name: BasketName, basketId: number): void {
    this.ids.set(keyOf(name), basketId);
  }
}

const keyOf = ({ ownerId, externalId }: BasketName): string => `${ownerId} ${externalId}`;

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
