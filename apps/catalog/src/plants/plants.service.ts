import { Injectable } from '@nestjs/common';
import { catalog, type ChangePlant, type NewPlant, type Plant, type PlantReplacement } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import type { PageRequest } from '@plant-shop/contracts/fields';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import { CodedError } from '@plant-shop/platform/errors';
import { runOnce } from '@plant-shop/platform/idempotency/saved-answers';
import { Paging } from '@plant-shop/platform/paging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { type Page, type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { labelsToFill } from '../labels/label.js';
import { idsOfLabels } from '../labels/labels.repository.js';
import { findPendingPlant, intendToList, intendToOpen, intendToRetire } from '../stock/stock-intents.repository.js';
import { type Retired, StockIntentsService } from '../stock/stock-intents.service.js';
import {
  attributesOf,
  changesOf,
  checkVersion,
  type PlantAttributes,
  plantNotFound,
  type PlantState,
  toPlant,
} from './plant.js';
import {
  claimPlantId,
  drawPlantId,
  findPage,
  findPlant,
  insertPlant,
  lockPlant,
  lockPlantOf,
  type PlantList,
  writePlant,
} from './plants.repository.js';

const retireTries = 3;

@Injectable()
export class PlantsService {
  constructor(
    private readonly database: Database,
    private readonly intents: StockIntentsService,
  ) {}

  /** Answers when the store has opened stock for it, so that it can be ordered at once. */
  async create(context: RpcContext, given: NewPlant): Promise<Versioned<Plant> | Replayed> {
    const attributes = attributesOf(given, await idsOfLabels(this.database, labelsToFill(given)), 'available');
    return this.write(context, catalog.createPlant, async (tx) => {
      const plant = await insertNew(tx, given.id || undefined, attributes);
      await intendToOpen(tx, plant.incarnation, given.quantity ?? null, this.intents.leaseMsOf(context));
      return plant;
    });
  }

  /** All attributes; absent optional ones are cleared, but an absent status keeps the current one. */
  async replace(
    context: RpcContext,
    given: PlantReplacement,
    ifVersion?: number,
  ): Promise<Versioned<Plant> | Replayed> {
    const ids = await idsOfLabels(this.database, labelsToFill(given));
    return this.update(context, catalog.replacePlant, given.id, ifVersion, (plant) => attributesOf(given, ids, plant.status));
  }

  async change(
    context: RpcContext,
    { plantId, ifVersion, ...form }: ChangePlant,
  ): Promise<Versioned<Plant> | Replayed> {
    const changes = changesOf(form);
    return this.update(context, catalog.changePlant, plantId, ifVersion, () => changes);
  }

  async get(plantId: number): Promise<Versioned<Plant>> {
    const plant = await findPlant(this.database, plantId);
    return versioned(existing(plantId, plant), plant?.stamp);
  }

  /** Newest first. */
  async find(list: PlantList, page: PageRequest): Promise<Page<Plant>> {
    const paging = new Paging(`plants by ${list.by}`, list.anyOf);
    const bounds = paging.bounds(page);
    const { plants, stamp } = await findPage(this.database, list, bounds);
    return paging.page(plants, bounds, { entry: toPlant, position: ({ incarnation }) => incarnation }, stamp);
  }

  /** The store decides: with orders placed or approved the plant stays. */
  async delete(context: RpcContext, plantId: number, ifVersion?: number): Promise<{ plantId: number }> {
    const { incarnation, attempt } = await this.database.transaction(async (tx) => {
      const plant = existing(plantId, await lockPlant(tx, plantId));
      checkVersion(plant, ifVersion);
      const leaseMs = this.intents.leaseMsOf(context);
      return { ...plant, attempt: await intendToRetire(tx, plant.incarnation, actorOf(context), leaseMs) };
    });
    const { deleted, openOrders } = await this.intents.orOutcomeUnknown(
      incarnation,
      `Deleting plant ${plantId} has begun, but the store has not decided yet; that goes on by itself. Read the plant to see it.`,
      () => this.retire(context, plantId, incarnation, attempt),
    );
    if (openOrders.length > 0) {
      throw new DomainError(
        'plant-has-pending-orders',
        `Plant ${plantId} has orders that are placed or approved. Cancel them or wait for their delivery first.`,
        { orders: openOrders },
      );
    }
    if (!deleted) throw plantNotFound(plantId);
    return { plantId };
  }

  /**
   * The store refuses an attempt that is older than one it has answered, which happens when a plant is deleted twice at the
   * same time: it is made anew.
   */
  private async retire(context: RpcContext, plantId: number, incarnation: number, first: number): Promise<Retired> {
    let attempt = first;
    for (let tries = 1; ; tries++) {
      try {
        return await this.intents.retire(context, plantId, incarnation, attempt);
      } catch (error) {
        if (tries === retireTries || !(error instanceof CodedError) || error.code !== 'unavailable') throw error;
      }
      const next = await this.database.transaction(async (tx) => {
        const plant = await lockPlantOf(tx, incarnation);
        return plant && intendToRetire(tx, incarnation, actorOf(context), this.intents.leaseMsOf(context));
      });
      if (next === undefined) return { deleted: false, openOrders: [] };
      attempt = next;
    }
  }

  private update(
    context: RpcContext,
    operation: { readonly pattern: string },
    plantId: number,
    ifVersion: number | undefined,
    changes: (plant: PlantState) => Partial<PlantAttributes>,
  ): Promise<Versioned<Plant> | Replayed> {
    return this.write(context, operation, async (tx) => {
      const before = existing(plantId, await lockPlant(tx, plantId));
      checkVersion(before, ifVersion);
      const after = await writePlant(tx, before, { ...before, ...changes(before) });
      if (after.status !== before.status) {
        await intendToList(tx, after.incarnation, after.version, this.intents.leaseMsOf(context));
      }
      return after;
    });
  }

  /**
   * Writes a plant once for an Idempotency-Key, and answers when nothing of it is left to tell the store. A repeated request
   * tells what is left too: the first one may have ended between its commit and the store's answer.
   */
  private async write(
    context: RpcContext,
    operation: { readonly pattern: string },
    work: (tx: Transaction) => Promise<PlantState>,
  ): Promise<Versioned<Plant> | Replayed> {
    const { answer, pending } = await this.database.transaction(async (tx) => {
      const written = await runOnce(tx, context.idempotency, async () => {
        const plant = await work(tx);
        audit(tx, actorOf(context), operation, plant.id);
        return versioned(plant);
      });
      const { id } = written.value as Plant;
      return { answer: written, pending: await findPendingPlant(tx, id, written.meta.version ?? 0) };
    });
    if (pending) {
      await this.intents.orOutcomeUnknown(
        pending.incarnation,
        `Plant ${pending.id} is written, but the store does not know of it yet; that goes on by itself. ` +
          'Read the plant to see it, or repeat the request with the same Idempotency-Key.',
        () => this.intents.tell(context, pending),
      );
    }
    return answer;
  }
}

async function insertNew(tx: Transaction, chosenId: number | undefined, attributes: PlantAttributes): Promise<PlantState> {
  for (;;) {
    const id = chosenId ?? (await drawPlantId(tx));
    await claimPlantId(tx, id);
    const plant = await insertPlant(tx, id, attributes);
    if (plant) return plant;
    if (chosenId !== undefined) {
      throw new DomainError('plant-exists', `Plant ${id} exists. Change it by PUT, or leave id out and one is assigned.`);
    }
    // A client took the id between the draw and the claim: draw another.
  }
}

function existing(plantId: number, plant: PlantState | undefined): PlantState {
  if (!plant) throw plantNotFound(plantId);
  return plant;
}

const versioned = (plant: PlantState, stamp?: string): Versioned<Plant> => new Versioned(toPlant(plant), plant.version, stamp);
