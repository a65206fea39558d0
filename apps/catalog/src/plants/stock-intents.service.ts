import { Injectable } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import { type OpenOrders, type OpenStock, store } from '@plant-shop/contracts/store';
import { audit } from '@plant-shop/platform/patterns/audit-log';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { Attempt } from '@plant-shop/platform/patterns/saga/intent-table';
import { type Saga, type SagaOutcome, SagaRunner } from '@plant-shop/platform/patterns/saga/saga-runner';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { deletePlant } from './plants.repository.js';
import { deleteIntent, deleteOpenings, lockIntent, stockIntents, writeIntent } from './stock-intents.repository.js';
import { afterAcknowledgement, afterRefusal, hasPendingCalls, type PendingPlant, type StockIntent } from './stock-intent.js';

/** An attempt to delete a plant; its key is the incarnation. */
export interface PlantDeletion extends Attempt<number> {
  readonly plantId: number;
}

type OrderIds = OpenOrders['openOrders'];

/**
 * What catalog and store do together: open a plant's stock, list it, and delete the plant. The store uses incarnation, version and
 * attempt to ignore late and repeated calls.
 */
@Injectable()
export class StockIntentsService extends SagaRunner<number, PendingPlant> {
  constructor(
    database: Database,
    private readonly rpc: RpcClient,
    @InjectLogger() logger: Logger,
  ) {
    super(database, stockIntents, { name: 'stock intents', intervalMs: 1_000 }, logger);
  }

  private readonly deletionSteps: Saga<PlantDeletion, OrderIds> = {
    ask: async (context, { plantId, key: incarnation, attempt }) => {
      const { openOrders } = await this.rpc.call(store.retirePlant, { plantId, incarnation, attempt }, context);
      return openOrders.length > 0 ? openOrders : undefined;
    },
    complete: ({ plantId, key: incarnation }) =>
      this.database.transaction(async (tx) => {
        const requester = await stockIntents.requesterOf(tx, incarnation);
        const isDeletedHere = await deletePlant(tx, incarnation);
        if (isDeletedHere) audit(tx, requester, catalog.deletePlant, plantId);
        return isDeletedHere;
      }),
    withdraw: async ({ key: incarnation, attempt }) => {
      const before = await this.settle(incarnation, (intent) => afterRefusal(intent, attempt));
      return before?.retireAttempt === attempt;
    },
    unknown: ({ plantId }) =>
      `It is not known yet whether plant ${plantId} was deleted. The shop completes or withdraws the deletion in the background. ` +
      'Read the plant to see the result.',
  };

  /** Deletes a plant, unless the store has open orders for it. The attempt must be committed. @throws as `SagaRunner.execute` */
  deletePlant(context: RpcContext, attempt: PlantDeletion): Promise<SagaOutcome<OrderIds>> {
    return this.execute(context, this.deletionSteps, attempt);
  }

  /** Opens the plant's stock and lists it under its present status, whichever is pending. */
  sync(context: RpcContext, plant: PendingPlant): Promise<void> {
    const text =
      `Plant ${plant.id} is saved, but the store has not confirmed it yet. The catalog keeps trying. ` +
      'To learn when it has, repeat the request: a PUT without If-Match, a POST with the same Idempotency-Key.';
    return this.afterCommit([plant.incarnation], text, () => this.syncPlant(context, plant));
  }

  /** `sync` for several plants. Opens the stock of new ones in one call. */
  async syncAll(context: RpcContext, plants: readonly PendingPlant[]): Promise<void> {
    const isNew = ({ opens, listsVersion, retireAttempt }: PendingPlant): boolean =>
      opens && listsVersion === null && retireAttempt === null;
    const opened = plants.filter(isNew);
    const others = plants.filter((plant) => !isNew(plant));
    const incarnations = plants.map(({ incarnation }) => incarnation);
    await this.afterCommit(incarnations, 'The plants are saved, but the store has not confirmed all of them yet.', async () => {
      await this.openAll(context, opened);
      const results = await Promise.allSettled(others.map((plant) => this.syncPlant(context, plant)));
      const failed = results.find((one) => one.status === 'rejected');
      if (failed) throw failed.reason;
    });
  }

  protected async resume(context: RpcContext, plant: PendingPlant): Promise<void> {
    const { id: plantId, incarnation: key, retireAttempt: attempt } = plant;
    if (attempt !== null) {
      const { completed } = await this.resumeAttempt(context, this.deletionSteps, { plantId, key, attempt, isFirst: false });
      if (completed) return;
    }
    if (hasPendingCalls(plant)) await this.syncPlant(context, plant);
  }

  private async syncPlant(context: RpcContext, plant: PendingPlant): Promise<void> {
    const { id: plantId, incarnation, version, status } = plant;
    if (plant.opens) await this.rpc.call(store.openStock, openingOf(plant), context);
    // Second, since the store lists only plants that it knows; needed, since it ignores a repeated opening with its status.
    if (plant.listsVersion !== null) {
      await this.rpc.call(store.listStock, { plantId, incarnation, version, status }, context);
    }
    await this.settle(incarnation, (intent) => afterAcknowledgement(intent, version));
  }

  private async openAll(context: RpcContext, plants: readonly PendingPlant[]): Promise<void> {
    if (plants.length === 0) return;
    await this.rpc.call(store.openStocks, { plants: plants.map(openingOf) }, context);
    await this.database.transaction((tx) => deleteOpenings(tx, plants.map(({ incarnation }) => incarnation)));
  }

  /** Reduces an intent to what remains of it. @returns the intent before */
  private settle(
    incarnation: number,
    rest: (intent: StockIntent) => StockIntent | undefined,
  ): Promise<StockIntent | undefined> {
    return this.database.transaction(async (tx) => {
      const intent = await lockIntent(tx, incarnation);
      if (!intent) return undefined;
      const left = rest(intent);
      if (left) await writeIntent(tx, left);
      else await deleteIntent(tx, incarnation);
      return intent;
    });
  }
}

const openingOf = ({ id: plantId, incarnation, status, version, units }: PendingPlant): OpenStock => ({
  plantId,
  incarnation,
  status,
  version,
  ...(units !== null && { units }),
});
