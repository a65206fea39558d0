import { Injectable } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import type {
  PlantFinding,
  RaisedNumber,
  RaiseNumbers,
  ReconciledPage,
  ReconcilePlants,
} from '@plant-shop/contracts/reconcile';
import { store } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import { isTransient } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { raiseSequence, type SequenceToRaise } from '@plant-shop/platform/postgres/sequences';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import type { PlantState } from '../plants/plant.js';
import { lockPlantByIncarnation, writePlant } from '../plants/plants.repository.js';
import type { StockIntent } from '../stock/stock-intent.js';
import { intendToList, intendToOpen, intendToRetire, lockIntent } from '../stock/stock-intents.repository.js';
import { StockIntentsService } from '../stock/stock-intents.service.js';
import {
  type ComparedPlant,
  confirmedDrifts,
  countPlantIds,
  type Drift,
  driftsOf,
  isBehind,
  pageOf,
  plantIdOf,
  type PlantPage,
} from './drift.js';
import { drawRetireAttempt, findPlantsToCompare } from './reconcile.repository.js';

/** The store does not know versions that changed no status, and a backup may be old. Negligible beside 2^53. */
const versionMargin = 1_000_000_000;
const attemptMargin = 1_000_000;

type MendResult = Pick<PlantFinding, 'outcome' | 'openOrders'>;
const mended: MendResult = { outcome: 'mended' };

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
    const wanted: SequenceToRaise[] = [
      { sequence: 'plant_versions', known: highest.plantVersion, margin: versionMargin },
      { sequence: 'plant_ids', known: highest.assignedPlantId, margin: 0 },
      { sequence: 'retire_attempts', known: highest.retireAttempt, margin: attemptMargin },
    ];
    const raised: RaisedNumber[] = [];
    for (const one of wanted) {
      const result = await this.database.transaction(async (tx) => {
        const raising = await raiseSequence(tx, one, { dryRun });
        if (raising && !dryRun) audit(tx, actorOf(context), catalog.raiseNumbers, one.sequence);
        return raising;
      });
      if (result) raised.push(result);
    }
    if (raised.length > 0) this.logger.info({ raised, dryRun }, 'numbers behind the store');
    return { raised };
  }

  /** Compares one page of plants with the store's stock and repairs the differences, unless `dryRun`. */
  async reconcile(
    context: RpcContext,
    { after = 0, limit = 500, dryRun = false }: ReconcilePlants,
  ): Promise<ReconciledPage<PlantFinding, number>> {
    const first = await this.read(context, after, limit);
    const seen = driftsOf(first);
    if (seen.length === 0) return reconciled(first, first.upTo, []);
    // Reads twice: a plant that is created or deleted between reading the two sides differs once, but not twice.
    const second = await this.read(context, after, limit);
    const findings: PlantFinding[] = [];
    for (const drift of confirmedDrifts(seen, driftsOf(second))) {
      const what = { plantId: plantIdOf(drift), drift: drift.drift };
      const result: MendResult | undefined = dryRun ? { outcome: 'found' } : await this.tryToMend(context, drift);
      if (!result) continue;
      findings.push({ ...what, ...result });
      this.logger.info({ ...what, ...result }, 'drift between catalog and store');
    }
    const ends = [first.upTo, second.upTo].filter((end) => end !== undefined);
    return reconciled(second, ends.length === 0 ? undefined : Math.min(...ends), findings);
  }

  /** Reads the plants first: the store has already acknowledged the state of any plant without an intent. */
  private async read(context: RpcContext, after: number, limit: number): Promise<PlantPage> {
    const plants = await findPlantsToCompare(this.database, after, limit);
    const stock = await this.rpc.call(store.listAllStock, { after, limit }, context);
    return pageOf(plants, stock, limit);
  }

  private async tryToMend(context: RpcContext, drift: Drift): Promise<MendResult | undefined> {
    try {
      return await this.mend(context, drift);
    } catch (error) {
      if (!isTransient(error)) throw error;
      this.logger.warn({ err: error, plantId: plantIdOf(drift) }, 'drift not mended yet');
      return { outcome: 'unfinished' };
    }
  }

  /** @returns undefined if the plant has changed meanwhile: nothing differs any more, or an intent will complete it */
  private async mend(context: RpcContext, drift: Drift): Promise<MendResult | undefined> {
    switch (drift.drift) {
      case 'stock-missing':
        return this.reopenStock(context, drift.plant);
      case 'listing-differs':
        return this.relist(context, drift.plant, isBehind(drift.plant, drift.stock));
      case 'plant-deleted':
        return this.retryDeletion(context, drift.plant);
      case 'plant-missing':
        return this.retireStock(context, drift.stock);
      default:
        return drift satisfies never;
    }
  }

  /** Opens stock with no units: the number left is unknown, and selling units that do not exist is worse than selling none. */
  private reopenStock(context: RpcContext, plant: ComparedPlant): Promise<MendResult | undefined> {
    return this.intendAndSync(context, plant, async (tx, { incarnation }) => {
      await intendToOpen(tx, incarnation, 0, this.intents.leaseMsOf(context));
      return { version: plant.version, opens: true, units: 0, listsVersion: null };
    });
  }

  private relist(context: RpcContext, plant: ComparedPlant, isOutdated: boolean): Promise<MendResult | undefined> {
    return this.intendAndSync(context, plant, async (tx, found) => {
      const { incarnation, version } = isOutdated ? await writePlant(tx, found, found) : found;
      await intendToList(tx, incarnation, version, this.intents.leaseMsOf(context));
      return { version, opens: false, units: null, listsVersion: version };
    });
  }

  private async intendAndSync(
    context: RpcContext,
    plant: ComparedPlant,
    intend: (
      tx: Transaction,
      found: PlantState,
    ) => Promise<Omit<StockIntent, 'incarnation' | 'retireAttempt'> & { readonly version: number }>,
  ): Promise<MendResult | undefined> {
    const intent = await this.database.transaction(async (tx) => {
      const found = await lockUnchanged(tx, plant);
      if (!found) return undefined;
      audit(tx, actorOf(context), catalog.reconcilePlants, plant.id);
      return intend(tx, found);
    });
    if (!intent) return undefined;
    const { id, incarnation, status } = plant;
    await this.callStore(incarnation, () =>
      this.intents.syncPlant(context, { id, incarnation, status, retireAttempt: null, ...intent }),
    );
    return mended;
  }

  private async retryDeletion(context: RpcContext, plant: ComparedPlant): Promise<MendResult | undefined> {
    const attempt = await this.database.transaction(async (tx) => {
      const found = await lockUnchanged(tx, plant);
      return found && intendToRetire(tx, plant.incarnation, actorOf(context), this.intents.leaseMsOf(context));
    });
    if (attempt === undefined) return undefined;
    const { id, incarnation } = plant;
    const { openOrders } = await this.callStore(incarnation, () => this.intents.retire(context, id, incarnation, attempt));
    return openOrders.length > 0 ? { outcome: 'left', openOrders } : mended;
  }

  /** Runs calls to the store. If they fail, the intents' loop retries at once. */
  private callStore<T>(incarnation: number, work: () => Promise<T>): Promise<T> {
    return this.intents.orOutcomeUnknown(incarnation, 'The catalog keeps trying.', work);
  }

  private async retireStock(
    context: RpcContext,
    { plantId, incarnation }: { readonly plantId: number; readonly incarnation: number },
  ): Promise<MendResult> {
    const attempt = await this.database.transaction(async (tx) => {
      audit(tx, actorOf(context), catalog.reconcilePlants, plantId);
      return drawRetireAttempt(tx);
    });
    const { openOrders } = await this.rpc.call(store.retirePlant, { plantId, incarnation, attempt }, context);
    return openOrders.length > 0 ? { outcome: 'left', openOrders } : mended;
  }
}

/** Locks a plant. @returns undefined if it has changed since it was compared, or has an intent */
async function lockUnchanged(tx: Transaction, plant: ComparedPlant): Promise<PlantState | undefined> {
  const found = await lockPlantByIncarnation(tx, plant.incarnation);
  if (found?.version !== plant.version) return undefined;
  return (await lockIntent(tx, plant.incarnation)) ? undefined : found;
}

function reconciled(
  page: PlantPage,
  next: number | undefined,
  findings: readonly PlantFinding[],
): ReconciledPage<PlantFinding, number> {
  return { checked: countPlantIds(page), ...(next !== undefined && { next }), findings };
}
