import { Injectable } from '@nestjs/common';
import { catalog, type ChangePlant, type NewPlant, type PatchPlant, type Plant, type PlantReplacement, type ResolvedPlants } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import type { PageRequest } from '@plant-shop/contracts/fields';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import { byNumber, Paging } from '@plant-shop/platform/patterns/paging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { constraintOf } from '@plant-shop/platform/postgres/sqlstate';
import { type Page, type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { leaseMsOf } from '@plant-shop/platform/patterns/saga/intent-table';
import { idsOfLabels, labelsToFill } from '../labels/labels.js';
import { findPendingPlant, intendToList, intendToOpen, stockIntents } from './stock-intents.repository.js';
import type { PendingPlant } from './stock-intent.js';
import { StockIntentsService } from './stock-intents.service.js';
import {
  assertVersion,
  attributesOf,
  changesOf,
  externalIdExists,
  ofNewPlant,
  patched,
  type PlantAttributes,
  plantNotFound,
  type PlantState,
  toPlant,
} from './plant.js';
import {
  claimPlantId,
  drawPlantId,
  findByExternalId,
  findPage,
  findPlant,
  insertPlant,
  lockPlant,
  type PlantList,
  resolvePlants,
  writePlant,
} from './plants.repository.js';

/** Leaves room for the other members of an RPC batch. */
const maxResolvedBytes = 400 * 1024;

@Injectable()
export class PlantsService {
  constructor(
    private readonly database: Database,
    private readonly intents: StockIntentsService,
  ) {}

  /** Creates a plant. Resolves once the store has opened stock for it, so that it can be ordered at once. */
  async create(context: RpcContext, given: NewPlant): Promise<Versioned<Plant> | Replayed> {
    const attributes = attributesOf(given, await idsOfLabels(this.database, labelsToFill(given)), ofNewPlant);
    return this.write(context, catalog.createPlant, attributes, async (tx) => {
      const plant = await insertNew(tx, given.id || undefined, attributes);
      intendToOpen(tx, [{ incarnation: plant.incarnation, units: given.quantity ?? null }], leaseMsOf(context));
      return plant;
    });
  }

  /** Replaces all attributes. Clears absent optional ones, except that absent status, external id and metadata stay. */
  async replace(
    context: RpcContext,
    given: PlantReplacement,
    ifVersion?: number,
  ): Promise<Versioned<Plant> | Replayed> {
    const ids = await idsOfLabels(this.database, labelsToFill(given));
    return this.update(context, catalog.replacePlant, given.id, ifVersion, (plant) => attributesOf(given, ids, plant), given);
  }

  patch(context: RpcContext, { plantId, plant: patch, ifVersion }: PatchPlant): Promise<Versioned<Plant> | Replayed> {
    const changes = async (plant: PlantState, tx: Transaction): Promise<PlantAttributes> => {
      const given = patched(plant, patch);
      // In the transaction, since the labels depend on the plant.
      return attributesOf(given, await idsOfLabels(tx, labelsToFill(given)), plant);
    };
    return this.update(context, catalog.patchPlant, plantId, ifVersion, changes, patch);
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
    return versioned(requirePlant(plantId, plant), plant?.stamp);
  }

  /** Returns what orders show of their plants. */
  async resolve(plantIds: readonly number[]): Promise<ResolvedPlants> {
    const rows = await resolvePlants(this.database, plantIds, maxResolvedBytes);
    return { plants: rows.filter((row) => row.name !== null), left: rows.filter((row) => row.name === null).map(({ id }) => id) };
  }

  /** Lists plants newest first. */
  async find(list: PlantList, page: PageRequest): Promise<Page<Plant>> {
    const paging = new Paging(`plants by ${list.by}`, byNumber, list.anyOf);
    const bounds = paging.bounds(page);
    const { plants, stamp } = await findPage(this.database, list, bounds);
    return paging.page(plants, bounds, { entry: toPlant, position: ({ incarnation }) => incarnation }, stamp);
  }

  /**
   * Deletes a plant if the store allows it: open orders (placed or approved) prevent the deletion.
   * @throws DomainError `plant-not-found`, `precondition-failed`, `plant-has-pending-orders`; CodedError `unavailable` if nothing
   * happened, `outcome-unknown` while it is not known whether the plant was deleted
   */
  async delete(context: RpcContext, plantId: number, ifVersion?: number): Promise<{ plantId: number }> {
    const deletion = await this.database.transaction(async (tx) => {
      const plant = requirePlant(plantId, await lockPlant(tx, plantId));
      assertVersion(plant, ifVersion);
      return stockIntents.begin(tx, plant.incarnation, actorOf(context), leaseMsOf(context));
    });
    if (!deletion) throw plantNotFound(plantId);
    const { completed, refusal } = await this.intents.deletePlant(context, { ...deletion, plantId });
    if (refusal) {
      throw new DomainError(
        'plant-has-pending-orders',
        `Plant ${plantId} has placed or approved orders. Cancel them or wait for their delivery first.`,
        { orders: refusal },
      );
    }
    if (!completed) throw plantNotFound(plantId);
    return { plantId };
  }

  private update(
    context: RpcContext,
    operation: { readonly pattern: string },
    plantId: number,
    ifVersion: number | undefined,
    changes: (plant: PlantState, tx: Transaction) => Partial<PlantAttributes> | Promise<PlantAttributes>,
    given: Pick<PlantReplacement, 'externalId'> = {},
  ): Promise<Versioned<Plant> | Replayed> {
    return this.write(context, operation, given, async (tx) => {
      const before = requirePlant(plantId, await lockPlant(tx, plantId));
      assertVersion(before, ifVersion);
      const after = await writePlant(tx, before, { ...before, ...(await changes(before, tx)) });
      if (after.status !== before.status) {
        intendToList(tx, [after], leaseMsOf(context));
      }
      return after;
    });
  }

  /**
   * Writes a plant once per Idempotency-Key. Resolves when no call to the store is pending for it. A repeated request completes
   * pending calls too: the first one may have ended between its commit and the store's answer.
   * @throws DomainError `external-id-exists` if another plant has the given one
   */
  private async write(
    context: RpcContext,
    operation: { readonly pattern: string },
    given: Pick<PlantReplacement, 'externalId'>,
    work: (tx: Transaction) => Promise<PlantState>,
  ): Promise<Versioned<Plant> | Replayed> {
    const { answer, pending } = await this.writeOnce(context, operation, work).catch(async (error: unknown) => {
      const { externalId } = given;
      if (constraintOf(error) !== 'external_id_taken' || typeof externalId !== 'string') throw error;
      throw externalIdExists(externalId, await findByExternalId(this.database, externalId));
    });
    if (pending) await this.intents.sync(context, pending);
    return answer;
  }

  private writeOnce(
    context: RpcContext,
    operation: { readonly pattern: string },
    work: (tx: Transaction) => Promise<PlantState>,
  ): Promise<{ answer: Versioned<Plant> | Replayed; pending: PendingPlant | undefined }> {
    return this.database.transaction(async (tx) => {
      const written = await runOnce(tx, context.idempotency, async () => {
        const plant = await work(tx);
        audit(tx, actorOf(context), operation, plant.id);
        return versioned(plant);
      });
      const { id } = written.value as Plant;
      return { answer: written, pending: await findPendingPlant(tx, id, written.meta.version ?? 0) };
    });
  }
}

async function insertNew(tx: Transaction, chosenId: number | undefined, attributes: PlantAttributes): Promise<PlantState> {
  for (;;) {
    const id = chosenId ?? (await drawPlantId(tx));
    await claimPlantId(tx, id);
    const plant = await insertPlant(tx, id, attributes);
    if (plant) return plant;
    if (chosenId !== undefined) {
      throw new DomainError('plant-exists', `Plant ${id} exists. Change it by PUT, or omit the id to have one assigned.`);
    }
    // A client took the id between the draw and the claim: draw another.
  }
}

function requirePlant(plantId: number, plant: PlantState | undefined): PlantState {
  if (!plant) throw plantNotFound(plantId);
  return plant;
}

const versioned = (plant: PlantState, stamp?: string): Versioned<Plant> => new Versioned(toPlant(plant), plant.version, stamp);
