import { CodedError, unavailable } from '@plant-shop/platform/errors';
import type { Database, Reader, Transaction } from '@plant-shop/platform/postgres/database';
import { drawFreeIds } from '@plant-shop/platform/postgres/sequences';
import { constraintOf, sqlStateOf, uniqueViolation } from '@plant-shop/platform/postgres/sqlstate';

/** The id that the client chose; undefined: the store draws one. */
interface IdChoice {
  readonly chosenId: number | undefined;
}

/** A request with the id that the client chose or the store drew. */
export type WithId<Request extends IdChoice = IdChoice> = Request & { readonly id: number };

export interface IdOptions {
  /** Also locks the drawn ids, and replaces those that are taken (`withLockedIds`). */
  readonly locksDrawnIds?: boolean;
}

/** The increment of the sequence `order_ids`: one value reserves this many ids. */
const idBlock = 1_000;
const maxAttempts = 5;
/** An id that is taken violates one of these, whichever Postgres checks first. */
const idConstraints = ['orders_pkey', 'order_transitions_by_order'];

/**
 * Ids for orders without a chosen one, drawn ahead so that a batch needs no round trip for them. A client may take one of them
 * before it is used; the write then collides (`recheck`).
 */
export class OrderIds {
  private free: number[] = [];
  private drawnAt = 0;
  private drawing: Promise<void> | undefined;

  /** @param keepMs how long drawn ids are kept: less than until an order is old (order-archive.ts), so that a write still collides with one that has taken an id */
  constructor(
    private readonly database: Database,
    private readonly keepMs = 86_400_000,
  ) {}

  /**
   * Runs a transaction that places requests under their chosen or drawn ids. Draws new ids and runs it again when another transaction
   * has taken one, at most `maxAttempts` times in all.
   */
  async assign<Request extends IdChoice, Result>(
    requests: readonly Request[],
    run: (orders: readonly WithId<Request>[], options: IdOptions) => Promise<Result>,
  ): Promise<Result> {
    const chosen = new Set(chosenIdsOf(requests));
    for (let attempt = 1; ; attempt++) {
      const drawn = await this.draw(requests.filter(hasNoChosenId).length, chosen);
      try {
        return await run(withIds(requests, drawn), { locksDrawnIds: attempt > 1 });
      } catch (error) {
        // Another transaction took an id before the write: a drawn id for a client that chose it, or a chosen id that it had drawn. From
        // the second attempt on, drawn ids are locked too, so only chosen ids collide. Each does so once: the next attempt finds it taken
        // and refuses its order. If the attempts run out, `Batcher` places the batch in halves, down to single orders.
        const collided = sqlStateOf(error) === uniqueViolation && idConstraints.includes(constraintOf(error) ?? '');
        if (!collided || attempt >= maxAttempts) throw error;
        await this.recheck();
      }
    }
  }

  /** Returns the next ids. @param except ids that orders of the same batch chose */
  async draw(count: number, except: ReadonlySet<number>): Promise<number[]> {
    const ids: number[] = [];
    while (ids.length < count) {
      if (performance.now() - this.drawnAt > this.keepMs) this.free = [];
      if (this.free.length === 0) {
        this.drawing ??= this.drawMore().finally(() => (this.drawing = undefined));
        await this.drawing;
      }
      for (const id of this.free.splice(0, count - ids.length)) if (!except.has(id)) ids.push(id);
    }
    return ids;
  }

  /** Drops the ids that clients have taken since the draw. */
  private async recheck(): Promise<void> {
    const taken = await findTakenIds(this.database, this.free);
    this.free = this.free.filter((id) => !taken.has(id));
  }

  /** @throws CodedError `unavailable` also if the connection is lost during the draw: it may have used up ids, but no order was begun */
  private async drawMore(): Promise<void> {
    try {
      this.free.push(...(await drawOrderIds(this.database, 1)));
      this.drawnAt = performance.now();
    } catch (error) {
      const isLost = error instanceof CodedError && error.code === 'outcome-unknown';
      throw isLost ? unavailable('The database', error) : error;
    }
  }
}

/**
 * Locks the drawn ids, and replaces those that are taken. Comes after all other locks, in any order, since these locks are never
 * waited for.
 */
export async function withLockedIds<Request extends IdChoice>(tx: Transaction, orders: readonly WithId<Request>[]): Promise<WithId<Request>[]> {
  const drawn = orders.filter(hasNoChosenId).map((one) => one.id);
  const locked = await lockDrawnIds(tx, drawn, new Set(chosenIdsOf(orders)));
  // Ascending, as they are drawn: the orders of a basket are in the order of its lines.
  return withIds(orders, locked.sort((a, b) => a - b));
}

export function chosenIdsOf(requests: readonly IdChoice[]): number[] {
  const ids: number[] = [];
  for (const { chosenId } of requests) if (chosenId !== undefined) ids.push(chosenId);
  return ids;
}

const hasNoChosenId = ({ chosenId }: IdChoice): boolean => chosenId === undefined;

/** Gives each request the id that its client chose, or the next drawn one. */
function withIds<Request extends IdChoice>(requests: readonly Request[], drawn: readonly number[]): WithId<Request>[] {
  let next = 0;
  return requests.map((one) => {
    const id = one.chosenId ?? drawn[next++];
    if (id === undefined) throw new Error('fewer ids were drawn than needed');
    return { ...one, id };
  });
}

// The statements

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
async function findTakenIds(db: Reader, orderIds: readonly number[]): Promise<Set<number>> {
  const rows = await db.query<{ id: number }>(
    { name: 'taken-order-ids', text: 'SELECT id FROM orders WHERE id = ANY($1)' },
    [orderIds],
  );
  return new Set(rows.map((row) => row.id));
}

// Reads one range of the index for a block, which hardly ever holds an order: a look-up for each id would cost an order 2 µs.
const drawBlocks = `
  WITH drawn AS MATERIALIZED (SELECT nextval('order_ids') AS first FROM generate_series(1, $1))
  SELECT id FROM drawn CROSS JOIN LATERAL (
    SELECT id FROM generate_series(first, first + ${idBlock - 1}) AS block (id)
    EXCEPT SELECT id FROM orders WHERE id BETWEEN first AND first + ${idBlock - 1}
  ) AS free ORDER BY id`;

/** Draws at least `count` ids, ascending, that no other process draws and that no order has yet. */
function drawOrderIds(db: Reader, count: number): Promise<number[]> {
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
async function lockDrawnIds(tx: Transaction, drawn: readonly number[], except: ReadonlySet<number>): Promise<number[]> {
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
