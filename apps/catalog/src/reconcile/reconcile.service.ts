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
import { lockPlantOf, writePlant } from '../plants/plants.repository.js';
import type { StockIntent } from '../stock/stock-intent.js';
import { intendToList, intendToOpen, intendToRetire, lockIntent } from '../stock/stock-intents.repository.js';
import { StockIntentsService } from '../stock/stock-intents.service.js';
import {
  checkedOf,
  type ComparedPlant,
  type Drift,
  driftsOf,
  isBehind,
  pageOf,
  type PlantPage,
  plantIdOf,
  seenTwice,
} from './drift.js';
import { drawRetireAttempt, findPlantsToCompare } from './reconcile.repository.js';

/** Versions that changed no status were never told to the store, and a backup may be old. Of 2^53 this is nothing. */
const versionMargin = 1_000_000_000;
const attemptMargin = 1_000_000;

type Mended = Pick<PlantFinding, 'outcome' | 'openOrders'>;
const mended: Mended = { outcome: 'mended' };

/**
 * Compares plants with the store's stock after one of both databases was set back, and mends what differs by the same
 * intents and calls by which plants are created, listed and deleted: the store decides as it always does.
 */
@Injectable()
export class ReconcileService {
  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
    private readonly intents: StockIntentsService,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /** A set back sequence would give a new plant an incarnation that the store takes for an old one. */
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

  async reconcile(
    context: RpcContext,
    { after = 0, limit = 500, dryRun = false }: ReconcilePlants,
  ): Promise<ReconciledPage<PlantFinding, number>> {
    const first = await this.read(context, after, limit);
    const seen = driftsOf(first);
    if (seen.length === 0) return reconciled(first, first.upTo, []);
    // What is created or deleted while the two sides are read looks like a difference once, and not twice.
    const second = await this.read(context, after, limit);
    const findings: PlantFinding[] = [];
    for (const drift of seenTwice(seen, driftsOf(second))) {
      const what = { plantId: plantIdOf(drift), drift: drift.drift };
      const result: Mended | undefined = dryRun ? { outcome: 'found' } : await this.tryToMend(context, drift);
      if (!result) continue;
      findings.push({ ...what, ...result });
      this.logger.info({ ...what, ...result }, 'drift between catalog and store');
    }
    const ends = [first.upTo, second.upTo].filter((end) => end !== undefined);
    return reconciled(second, ends.length === 0 ? undefined : Math.min(...ends), findings);
  }

  /** Plants first: the store knows at once of whatever a plant without an intent has been told. */
  private async read(context: RpcContext, after: number, limit: number): Promise<PlantPage> {
    const plants = await findPlantsToCompare(this.database, after, limit);
    const stock = await this.rpc.call(store.listAllStock, { after, limit }, context);
    return pageOf(plants, stock, limit);
  }

  private async tryToMend(context: RpcContext, drift: Drift): Promise<Mended | undefined> {
    try {
      return await this.mend(context, drift);
    } catch (error) {
      if (!isTransient(error)) throw error;
      this.logger.warn({ err: error, plantId: plantIdOf(drift) }, 'drift not mended yet');
      return { outcome: 'unfinished' };
    }
  }

  /** @returns undefined when the plant has changed meanwhile: there is nothing to mend, or it goes on by itself */
  private async mend(context: RpcContext, drift: Drift): Promise<Mended | undefined> {
    switch (drift.drift) {
      case 'stock-missing':
        return this.openAnew(context, drift.plant);
      case 'listing-differs':
        return this.listAgain(context, drift.plant, isBehind(drift.plant, drift.stock));
      case 'plant-deleted':
        return this.deleteAgain(context, drift.plant);
      case 'plant-missing':
        return this.retireStock(context, drift.stock);
      default:
        return drift satisfies never;
    }
  }

  /** With no units: nobody knows how many are left, and one too few is not sold while one too many is. */
  private openAnew(context: RpcContext, plant: ComparedPlant): Promise<Mended | undefined> {
    return this.tell(context, plant, async (tx, { incarnation }) => {
      await intendToOpen(tx, incarnation, 0, this.intents.leaseMsOf(context));
      return { version: plant.version, opens: true, units: 0, listsVersion: null };
    });
  }

  private listAgain(context: RpcContext, plant: ComparedPlant, isOutdated: boolean): Promise<Mended | undefined> {
    return this.tell(context, plant, async (tx, found) => {
      const { incarnation, version } = isOutdated ? await writePlant(tx, found, found) : found;
      await intendToList(tx, incarnation, version, this.intents.leaseMsOf(context));
      return { version, opens: false, units: null, listsVersion: version };
    });
  }

  private async tell(
    context: RpcContext,
    plant: ComparedPlant,
    intend: (
      tx: Transaction,
      found: PlantState,
    ) => Promise<Omit<StockIntent, 'incarnation' | 'retireAttempt'> & { readonly version: number }>,
  ): Promise<Mended | undefined> {
    const intent = await this.database.transaction(async (tx) => {
      const found = await lockUnchanged(tx, plant);
      if (!found) return undefined;
      audit(tx, actorOf(context), catalog.reconcilePlants, plant.id);
      return intend(tx, found);
    });
    if (!intent) return undefined;
    const { id, incarnation, status } = plant;
    await this.goOn(incarnation, () =>
      this.intents.tell(context, { id, incarnation, status, retireAttempt: null, ...intent }),
    );
    return mended;
  }

  private async deleteAgain(context: RpcContext, plant: ComparedPlant): Promise<Mended | undefined> {
    const attempt = await this.database.transaction(async (tx) => {
      const found = await lockUnchanged(tx, plant);
      return found && intendToRetire(tx, plant.incarnation, actorOf(context), this.intents.leaseMsOf(context));
    });
    if (attempt === undefined) return undefined;
    const { id, incarnation } = plant;
    const { openOrders } = await this.goOn(incarnation, () => this.intents.retire(context, id, incarnation, attempt));
    return openOrders.length > 0 ? { outcome: 'left', openOrders } : mended;
  }

  /** What fails here is carried on at once by the loop that carries on all intents. */
  private goOn<T>(incarnation: number, work: () => Promise<T>): Promise<T> {
    return this.intents.orOutcomeUnknown(incarnation, 'It goes on by itself.', work);
  }

  private async retireStock(
    context: RpcContext,
    { plantId, incarnation }: { readonly plantId: number; readonly incarnation: number },
  ): Promise<Mended> {
    const attempt = await this.database.transaction(async (tx) => {
      audit(tx, actorOf(context), catalog.reconcilePlants, plantId);
      return drawRetireAttempt(tx);
    });
    const { openOrders } = await this.rpc.call(store.retirePlant, { plantId, incarnation, attempt }, context);
    return openOrders.length > 0 ? { outcome: 'left', openOrders } : mended;
  }
}

/** The plant, locked, if it is as it was compared and nothing of it is under way. */
async function lockUnchanged(tx: Transaction, plant: ComparedPlant): Promise<PlantState | undefined> {
  const found = await lockPlantOf(tx, plant.incarnation);
  if (found?.version !== plant.version) return undefined;
  return (await lockIntent(tx, plant.incarnation)) ? undefined : found;
}

function reconciled(
  page: PlantPage,
  next: number | undefined,
  findings: readonly PlantFinding[],
): ReconciledPage<PlantFinding, number> {
  return { checked: checkedOf(page), ...(next !== undefined && { next }), findings };
}
