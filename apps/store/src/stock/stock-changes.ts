import { Controller } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import { type ListStockChanges, type StockEntry, store } from '@plant-shop/contracts/store';
import { byNumber, Paging } from '@plant-shop/platform/patterns/paging';
import { Database, type Statement, type Transaction } from '@plant-shop/platform/postgres/database';
import type { Page } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { findStock } from './stock.repository.js';
import { requireStock } from './stock.js';

/** A change of units by staff. */
interface StockChange {
  readonly plantId: number;
  readonly by: number;
  /** Free units after it. */
  readonly free: number;
  readonly reason: string | undefined;
  /** A user id. */
  readonly actor: string;
  /** The order whose units were written off. */
  readonly order?: { readonly id: number; readonly quantity: number };
}

/** Appends to the history of a plant's stock, in the transaction of the change. */
export function appendStockChange(tx: Transaction, { plantId, by, free, reason, actor, order }: StockChange): void {
  tx.send(
    {
      name: 'append-stock-change',
      text: 'INSERT INTO stock_changes (plant_id, by, free, reason, actor, order_id, written_off) VALUES ($1, $2, $3, $4, $5, $6, $7)',
    },
    [plantId, by, free, reason ?? null, actor, order?.id ?? null, order?.quantity ?? 0],
  );
}

interface Row {
  readonly id: number;
  readonly at: Date;
  readonly by: number;
  readonly free: number;
  readonly reason: string | null;
  readonly actor: string | null;
  readonly orderId: number | null;
  readonly writtenOff: number;
}

const listByPlant: Statement = {
  name: 'list-stock-changes',
  text: `SELECT id, at, by, free, reason, actor, order_id AS "orderId", written_off AS "writtenOff" FROM stock_changes
         WHERE plant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
};

@Controller()
export class StockChangesController {
  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
  ) {}

  /** Lists the changes of the plant's stock by staff, newest first. @throws DomainError `plant-not-found` */
  @Answers(store.listStockChanges)
  async listStockChanges({ plantId, ...requested }: ListStockChanges, context: RpcContext): Promise<Page<StockEntry>> {
    const paging = new Paging('stock changes', byNumber, [String(plantId)]);
    const bounds = paging.bounds(requested);
    requireStock(plantId, await findStock(this.database, plantId));
    const rows = await this.database.query<Row>(listByPlant, [plantId, bounds.after, bounds.limit + 1]);
    const userIds = [...new Set(rows.flatMap(({ actor }) => actor ?? []))];
    const users = userIds.length === 0 ? [] : await this.rpc.call(identity.resolveUserIds, { userIds }, context);
    const names = new Map(users.map(({ userId, username }) => [userId, username]));
    return paging.page(rows, bounds, { entry: (row) => toEntry(row, names), position: ({ id }) => id });
  }
}

function toEntry({ id, at, by, free, reason, actor, orderId, writtenOff }: Row, names: ReadonlyMap<string, string>): StockEntry {
  const username = actor === null ? undefined : names.get(actor);
  return {
    id,
    at: at.toISOString(),
    by,
    free,
    ...(reason !== null && { reason }),
    ...(orderId !== null && { orderId, writtenOff }),
    ...(actor !== null && { actor }),
    ...(username !== undefined && { username }),
  };
}
