import { drawFreeIds } from '@plant-shop/platform/postgres/assigned-ids';
import type { Transaction } from '@plant-shop/platform/postgres/database';

type Reader = Pick<Transaction, 'query'>;

/** The increment of the sequence `order_ids`: one value reserves this many ids. */
const idBlock = 1_000;

/**
 * Takes advisory locks on ids that clients chose, in ascending order, until the transaction ends.
 * Row locks cannot protect an id before its row exists.
 * @returns the ids that existing orders have
 */
export async function claimOrderIds(tx: Transaction, orderIds: readonly number[]): Promise<Set<number>> {
  if (orderIds.length === 0) return new Set();
  tx.send(
    { name: 'claim-order-ids', text: 'SELECT pg_advisory_xact_lock(id) FROM unnest($1::bigint[]) AS id ORDER BY id' },
    [[...orderIds].sort((a, b) => a - b)],
  );
  // A separate statement: the snapshot of the one above is older than its lock waits.
  return findTakenIds(tx, orderIds);
}

/** Returns those of the ids that existing orders have. */
export async function findTakenIds(db: Reader, orderIds: readonly number[]): Promise<Set<number>> {
  const rows = await db.query<{ id: number }>(
    { name: 'taken-order-ids', text: 'SELECT id FROM orders WHERE id = ANY($1)' },
    [orderIds],
  );
  return new Set(rows.map((row) => row.id));
}

// A scalar subquery is one index look-up per id. Postgres may turn NOT EXISTS into a join that reads the whole table.
const drawBlocks = `
  WITH drawn AS MATERIALIZED (SELECT nextval('order_ids') AS first FROM generate_series(1, $1))
  SELECT id FROM drawn CROSS JOIN LATERAL generate_series(first, first + ${idBlock - 1}) AS block (id)
  WHERE (SELECT true FROM orders WHERE orders.id = block.id) IS NULL ORDER BY id`;

/** Draws at least `count` ids, ascending, that no other process draws and that no order has yet. */
export function drawOrderIds(db: Reader, count: number): Promise<number[]> {
  return drawFreeIds({ count, blockSize: idBlock }, async (blocks) =>
    (await db.query<{ id: number }>(drawBlocks, [blocks])).map((row) => row.id),
  );
}

/**
 * Locks drawn ids as `claimOrderIds` locks chosen ones, so that no client can take them before the transaction ends.
 * Replaces ids that are taken. Never waits: an id that another transaction has locked counts as taken.
 * @param except ids that this transaction has claimed
 * @returns as many locked ids as were drawn
 */
export async function lockDrawnIds(tx: Transaction, drawn: readonly number[], except: ReadonlySet<number>): Promise<number[]> {
  const locked = await tryLockIds(tx, drawn);
  while (locked.length < drawn.length) {
    const others = (await drawOrderIds(tx, drawn.length)).filter((id) => !except.has(id));
    locked.push(...(await tryLockIds(tx, others.slice(0, drawn.length - locked.length))));
  }
  return locked;
}

async function tryLockIds(tx: Transaction, orderIds: readonly number[]): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    'SELECT id FROM unnest($1::bigint[]) AS id WHERE pg_try_advisory_xact_lock(id)',
    [orderIds],
  );
  const locked = rows.map((row) => row.id);
  // A separate statement: the snapshot of the one above is older than its locks.
  const taken = await findTakenIds(tx, locked);
  return locked.filter((id) => !taken.has(id));
}
