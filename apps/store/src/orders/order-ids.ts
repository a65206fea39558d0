import { CodedError, unavailable } from '@plant-shop/platform/errors';
import type { Database, Transaction } from '@plant-shop/platform/postgres/database';
import { constraintOf, sqlStateOf, uniqueViolation } from '@plant-shop/platform/postgres/sqlstate';
import { drawOrderIds, findTakenIds, lockDrawnIds } from './orders.repository.js';

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

const maxAttempts = 5;
/** An id that is taken violates one of these, whichever Postgres checks first. */
const idConstraints = ['orders_pkey', 'order_transitions_by_order'];

/**
 * Ids for orders without a chosen one, drawn ahead so that a batch needs no round trip for them. A client may take one of them
 * before it is used; the write then collides (`recheck`).
 */
export class OrderIds {
  private free: number[] = [];
  private drawing: Promise<void> | undefined;

  constructor(private readonly database: Database) {}

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
