import { Controller, Injectable } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import {
  mendedUnless,
  type PlantFinding,
  type RaisedNumber,
  type RaiseNumbers,
  type ReconciledPage,
  type ReconcilePlants,
  type RepairResult,
} from '@plant-shop/contracts/reconcile';
import { store } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Reader, type Transaction } from '@plant-shop/platform/postgres/database';
import { raiseSequences } from '@plant-shop/platform/postgres/sequences';
import { type ComparedPage, reconcilePage } from '@plant-shop/platform/patterns/reconcile';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { leaseMsOf } from '@plant-shop/platform/patterns/saga/intent-table';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import type { PlantState } from '../plants/plant.js';
import { lockPlantByIncarnation, writePlant } from '../plants/plants.repository.js';
import { findPendingPlants, intendToList, intendToOpen, lockIntent, stockIntents } from '../plants/stock-intents.repository.js';
import { StockIntentsService } from '../plants/stock-intents.service.js';
import { type ComparedPlant, countPlantIds, type Drift, driftsOf, isBehind, pageOf, plantIdOf } from './drift.js';

/** Lists plants by ascending id. */
function findPlantsToCompare(db: Reader, after: number, limit: number): Promise<ComparedPlant[]> {
  return db.query(
    `SELECT plants.id, plants.incarnation, plants.version, plants.status,
       stock_intents.incarnation IS NOT NULL AS "hasIntent"
     FROM plants LEFT JOIN stock_intents ON stock_intents.incarnation = plants.incarnation
     WHERE plants.id > $1 ORDER BY plants.id LIMIT $2`,
    [after, limit],
  );
}

/** The store does not know versions that changed no status, and a backup may be old. Negligible beside 2^53. */
const versionMargin = 1_000_000_000;
const attemptMargin = 1_000_000;

/**
 * Compares plants with the store's stock after one of the two databases was restored. Repairs differences with the same intents and
 * calls that create, list and delete plants, so the store applies its usual rules.
 */
@Injectable()
export class ReconcileService {
  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
    private readonly intents: StockIntentsService,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /**
   * Raises sequences beyond the store's numbers. Otherwise a restored sequence could give a new plant an incarnation that the store
   * considers old.
   */
  async raiseNumbers(context: RpcContext, { dryRun = false }: RaiseNumbers): Promise<{ raised: RaisedNumber[] }> {
    const highest = await this.rpc.call(store.readHighestNumbers, {}, context);
    const wanted = [
      { sequence: 'plant_versions', known: highest.plantVersion, margin: versionMargin },
      { sequence: 'plant_ids', known: highest.assignedPlantId, margin: 0 },
      { sequence: 'retire_attempts', known: highest.retireAttempt, margin: attemptMargin },
    ];
    return { raised: await raiseSequences(this.database, context, catalog.raiseNumbers, wanted, { dryRun, logger: this.logger }) };
  }

  /** Compares one page of plants with the store's stock and repairs the differences, unless `dryRun`. */
  reconcile(
    context: RpcContext,
    { after = 0, limit = 500, dryRun = false }: ReconcilePlants,
  ): Promise<ReconciledPage<PlantFinding, number>> {
    return reconcilePage({
      compare: () => this.compare(context, after, limit),
      describe: (drift: Drift) => ({ plantId: plantIdOf(drift), drift: drift.drift }),
      repair: (drift) => this.mend(context, drift),
      dryRun,
      logger: this.logger,
    });
  }

  /** Reads the plants first: the store has already acknowledged the state of any plant without an intent. */
  private async compare(context: RpcContext, after: number, limit: number): Promise<ComparedPage<Drift, number>> {
    const plants = await findPlantsToCompare(this.database, after, limit);
    const stock = await this.rpc.call(store.listAllStock, { after, limit }, context);
    const page = pageOf(plants, stock, limit);
    return { checked: countPlantIds(page), drifts: driftsOf(page), end: page.upTo };
  }

  /** @returns undefined if the plant has changed meanwhile: nothing differs any more, or an intent will complete it */
  private async mend(context: RpcContext, drift: Drift): Promise<RepairResult | undefined> {
    switch (drift.drift) {
      case 'stock-missing':
        // With no units: the number left is unknown, and selling units that do not exist is worse than selling none.
        return this.sync(context, drift.plant, async (tx, { incarnation }) =>
          intendToOpen(tx, [{ incarnation, units: 0 }], leaseMsOf(context)),
        );
      case 'listing-differs':
        return this.sync(context, drift.plant, async (tx, found) => {
          const { incarnation, version } = isBehind(drift.plant, drift.stock) ? await writePlant(tx, found, found) : found;
          intendToList(tx, [{ incarnation, version }], leaseMsOf(context));
        });
      case 'plant-deleted':
        return this.deleteAgain(context, drift.plant);
      case 'plant-missing':
        return this.retireStock(context, drift.stock);
      default:
        return drift satisfies never;
    }
  }

  private async sync(
    context: RpcContext,
    plant: ComparedPlant,
    intend: (tx: Transaction, found: PlantState) => Promise<void>,
  ): Promise<RepairResult | undefined> {
    const [pending] = await this.database.transaction(async (tx) => {
      const found = await lockUnchanged(tx, plant);
      if (!found) return [];
      audit(tx, actorOf(context), catalog.reconcilePlants, plant.id);
      await intend(tx, found);
      return findPendingPlants(tx, [plant.id]);
    });
    if (!pending) return undefined;
    await this.intents.sync(context, pending);
    return { outcome: 'mended' };
  }

  private async deleteAgain(context: RpcContext, plant: ComparedPlant): Promise<RepairResult | undefined> {
    const deletion = await this.database.transaction(async (tx) => {
      const found = await lockUnchanged(tx, plant);
      return found && stockIntents.begin(tx, plant.incarnation, actorOf(context), leaseMsOf(context));
    });
    if (!deletion) return undefined;
    const { refusal } = await this.intents.deletePlant(context, { ...deletion, plantId: plant.id });
    return mendedUnless(refusal);
  }

  private async retireStock(
    context: RpcContext,
    { plantId, incarnation }: { readonly plantId: number; readonly incarnation: number },
  ): Promise<RepairResult> {
    const attempt = await stockIntents.drawAttempt(this.database, context, catalog.reconcilePlants, plantId);
    const { openOrders } = await this.rpc.call(store.retirePlant, { plantId, incarnation, attempt }, context);
    return mendedUnless(openOrders);
  }
}

/** Locks a plant. @returns undefined if it has changed since it was compared, or has an intent */
async function lockUnchanged(tx: Transaction, plant: ComparedPlant): Promise<PlantState | undefined> {
  const found = await lockPlantByIncarnation(tx, plant.incarnation);
  if (found?.version !== plant.version) return undefined;
  return (await lockIntent(tx, plant.incarnation)) ? undefined : found;
}

@Controller()
export class ReconcileController {
  constructor(private readonly reconcile: ReconcileService) {}

  @Answers(catalog.raiseNumbers)
  raiseNumbers(request: RaiseNumbers, context: RpcContext): Promise<{ raised: RaisedNumber[] }> {
    return this.reconcile.raiseNumbers(context, request);
  }

  @Answers(catalog.reconcilePlants)
  reconcilePlants(page: ReconcilePlants, context: RpcContext): Promise<ReconciledPage<PlantFinding, number>> {
    return this.reconcile.reconcile(context, page);
  }
}
