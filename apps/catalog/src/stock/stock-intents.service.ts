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
import { afterAcknowledgement, afterRefusal, type PendingPlant, type StockIntent } from './stock-intent.js';
import { deleteIntent, deleteOpenings, findDeletionActor, lockIntent, releaseLease, writeIntent } from './stock-intents.repository.js';

/** The outcome of an attempt to delete a plant. Neither deleted nor refused: a concurrent attempt deleted it first. */
export interface RetireOutcome {
  readonly deleted: boolean;
  /** The orders for which the store refused; empty: it did not. */
  readonly openOrders: readonly number[];
}

const maxLeaseMs = 30_000;

/**
 * Passes changes of plants on to the store. The intent was committed with the change, so a failed call is repeated until the store
 * has acknowledged it. The store uses incarnation, version and attempt to ignore late and repeated calls.
 */
@Injectable()
export class StockIntentsService {
  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /** Returns the lease of a request on the intents that it writes, in milliseconds: until its caller stops waiting, plus 1 second. */
  leaseMsOf({ deadline }: RpcContext): number {
    return Math.min(deadline.leftMs + 1_000, maxLeaseMs);
  }

  /** Makes the pending calls: opens the plant's stock and lists it under its present status. */
  async syncPlant(context: RpcContext, plant: PendingPlant): Promise<void> {
    const { id: plantId, incarnation, version, status, units } = plant;
    if (plant.opens) {
      await this.rpc.call(
        store.openStock,
        { plantId, incarnation, status, version, ...(units !== null && { units }) },
        context,
      );
    }
    // After the opening, which makes the plant known to the store. A repeated opening changes no listing, so this call is needed too.
    if (plant.listsVersion !== null) {
      await this.rpc.call(store.listStock, { plantId, incarnation, version, status }, context);
    }
    await this.settle(incarnation, (intent) => afterAcknowledgement(intent, version));
  }

  /**
   * Makes the pending calls of several plants. Opens the stock of new ones in one call.
   * @throws CodedError `outcome-unknown` if a call failed
   */
  async syncPlants(context: RpcContext, plants: readonly PendingPlant[]): Promise<void> {
    const isNew = ({ opens, listsVersion, retireAttempt }: PendingPlant): boolean =>
      opens && listsVersion === null && retireAttempt === null;
    const opened = plants.filter(isNew);
    const others = plants.filter((plant) => !isNew(plant));
    const first = plants[0];
    if (!first) return;
    await this.orOutcomeUnknown(first.incarnation, 'The plants are saved, but the store has not confirmed all of them yet.', async () => {
      if (!(await this.openAll(context, opened))) others.push(...opened);
      const results = await Promise.allSettled(others.map((plant) => this.syncPlant(context, plant)));
      const failed = results.find((one) => one.status === 'rejected');
      if (failed) throw failed.reason;
    });
  }

  /** Opens stock in one call. @returns false if the store is of an older release, which takes one opening per call */
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

  /** Asks the store whether the plant may be deleted, and deletes it if so. */
  async retire(context: RpcContext, plantId: number, incarnation: number, attempt: number): Promise<RetireOutcome> {
    const { openOrders } = await this.rpc.call(store.retirePlant, { plantId, incarnation, attempt }, context);
    if (openOrders.length > 0) {
      await this.settle(incarnation, (intent) => afterRefusal(intent, attempt));
      return { deleted: false, openOrders };
    }
    const deleted = await this.database.transaction(async (tx) => {
      const askedBy = await findDeletionActor(tx, incarnation);
      const isGone = await deletePlant(tx, incarnation);
      if (isGone) audit(tx, askedBy ?? actorOf(context), catalog.deletePlant, plantId);
      return isGone;
    });
    return { deleted, openOrders };
  }

  /**
   * Runs `work`, the calls after a commit. Releases the lease if it fails, so that the loop retries.
   * @throws CodedError `outcome-unknown` with the given text for any failure: the commit has happened
   */
  async orOutcomeUnknown<T>(incarnation: number, text: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      this.logger[isTransient(cause) ? 'warn' : 'error']({ err: cause, incarnation }, 'call to the store failed, will retry');
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

  /** Releases the lease. It expires anyway, so a failure only delays the retry. */
  private async release(incarnation: number): Promise<void> {
    try {
      await this.database.transaction((tx) => releaseLease(tx, incarnation));
    } catch (error) {
      this.logger.warn({ err: error, incarnation }, 'lease not released');
    }
  }
}
