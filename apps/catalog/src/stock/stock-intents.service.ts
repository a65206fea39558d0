import { Injectable } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import { store } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import { CodedError, isTransient } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { deletePlant } from '../plants/plants.repository.js';
import { acknowledged, type PendingPlant, refused, type StockIntent } from './stock-intent.js';
import { deleteIntent, deleteOpenings, findWhoAsked, lockIntent, releaseIntent, writeIntent } from './stock-intents.repository.js';

/** What became of an attempt to delete a plant. Neither deleted nor refused: somebody else's attempt was faster. */
export interface Retired {
  readonly deleted: boolean;
  readonly openOrders: readonly number[];
}

const maxLeaseMs = 30_000;

/**
 * Tells the store what happened to plants. What is to be told was committed with the change itself, so whatever fails here
 * is repeated until the store has it; what a late or repeated call does is decided by incarnation, version and attempt.
 */
@Injectable()
export class StockIntentsService {
  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /** How long a request is left alone with the intent it writes: until nobody waits for its answer any more. */
  leaseMsOf({ deadline }: RpcContext): number {
    return Math.min(deadline.leftMs + 1_000, maxLeaseMs);
  }

  /** Opens the plant's stock and lists it under its present status, whichever is still to be told. */
  async tell(context: RpcContext, plant: PendingPlant): Promise<void> {
    const { id: plantId, incarnation, version, status, units } = plant;
    if (plant.opens) {
      await this.rpc.call(
        store.openStock,
        { plantId, incarnation, status, version, ...(units !== null && { units }) },
        context,
      );
    }
    // After the opening: the store knows no plant to list before, and an opening that was repeated changes nothing.
    if (plant.listsVersion !== null) {
      await this.rpc.call(store.listStock, { plantId, incarnation, version, status }, context);
    }
    await this.settle(incarnation, (intent) => acknowledged(intent, version));
  }

  /**
   * Tells of several plants. New ones go in one call.
   * @throws CodedError `outcome-unknown` while the store knows of some of them no more than before
   */
  async tellAll(context: RpcContext, plants: readonly PendingPlant[]): Promise<void> {
    const isNew = ({ opens, listsVersion, retireAttempt }: PendingPlant): boolean => opens && listsVersion === null && retireAttempt === null;
    const opened = plants.filter(isNew);
    const others = plants.filter((plant) => !isNew(plant));
    const first = plants[0];
    if (!first) return;
    await this.orOutcomeUnknown(first.incarnation, 'The plants are written, but the store does not know of all of them yet.', async () => {
      if (!(await this.openAll(context, opened))) others.push(...opened);
      const told = await Promise.allSettled(others.map((plant) => this.tell(context, plant)));
      const failed = told.find((one) => one.status === 'rejected');
      if (failed) throw failed.reason;
    });
  }

  /** @returns false for a store of the release before, which takes one opening a call */
  private async openAll(context: RpcContext, plants: readonly PendingPlant[]): Promise<boolean> {
    if (plants.length === 0) return true;
    const openings = plants.map(({ id: plantId, incarnation, status, version, units }) => ({
      plantId,
      incarnation,
      status,
      version,
      ...(units !== null && { units }),
    }));
    try {
      await this.rpc.call(store.openStocks, { plants: openings }, context);
    } catch (error) {
      if (error instanceof CodedError && error.code === 'unknown-operation') return false;
      throw error;
    }
    await this.database.transaction((tx) => deleteOpenings(tx, plants.map(({ incarnation }) => incarnation)));
    return true;
  }

  /** Lets the store decide whether the plant may go, and deletes it if so. */
  async retire(context: RpcContext, plantId: number, incarnation: number, attempt: number): Promise<Retired> {
    const { openOrders } = await this.rpc.call(store.retirePlant, { plantId, incarnation, attempt }, context);
    if (openOrders.length > 0) {
      await this.settle(incarnation, (intent) => refused(intent, attempt));
      return { deleted: false, openOrders };
    }
    const deleted = await this.database.transaction(async (tx) => {
      const askedBy = await findWhoAsked(tx, incarnation);
      const isGone = await deletePlant(tx, incarnation);
      if (isGone) audit(tx, askedBy ?? actorOf(context), catalog.deletePlant, plantId);
      return isGone;
    });
    return { deleted, openOrders };
  }

  /**
   * After the commit, a failure never means that nothing happened.
   * @throws CodedError `outcome-unknown` with the given text, whatever went wrong
   */
  async orOutcomeUnknown<T>(incarnation: number, text: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      this.logger[isTransient(cause) ? 'warn' : 'error']({ err: cause, incarnation }, 'the store was not told yet, going on later');
      await this.release(incarnation);
      throw new CodedError('outcome-unknown', text, {}, { cause });
    }
  }

  private async settle(incarnation: number, rest: (intent: StockIntent) => StockIntent | undefined): Promise<void> {
    await this.database.transaction(async (tx) => {
      const intent = await lockIntent(tx, incarnation);
      if (!intent) return;
      const left = rest(intent);
      if (left) await writeIntent(tx, left);
      else await deleteIntent(tx, incarnation);
    });
  }

  /** The lease ends by itself too, so a failure here only costs time. */
  private async release(incarnation: number): Promise<void> {
    try {
      await this.database.transaction((tx) => releaseIntent(tx, incarnation));
    } catch (error) {
      this.logger.warn({ err: error, incarnation }, 'lease not released');
    }
  }
}
