import { Injectable } from '@nestjs/common';
import { catalog, type ImportLinePreview, type ImportLineResult } from '@plant-shop/contracts/catalog';
import { unavailable } from '@plant-shop/platform/errors';
import { actorOf, auditAll } from '@plant-shop/platform/patterns/audit-log';
import { IdempotencyKey, type RpcContext } from '@plant-shop/platform/rpc/context';
import { IdempotentResults } from '@plant-shop/platform/patterns/idempotent-results';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { constraintOf } from '@plant-shop/platform/postgres/sqlstate';
import { leaseMsOf } from '@plant-shop/platform/patterns/saga/intent-table';
import { idsOfLabels, knownIdsOfLabels, type Label, labelKey, labelsToFill } from '../labels/labels.js';
import { drawPlantIds } from '../plants/plants.repository.js';
import { findPendingPlants, intendToList, intendToOpen } from '../plants/stock-intents.repository.js';
import { type PendingPlant } from '../plants/stock-intent.js';
import { StockIntentsService } from '../plants/stock-intents.service.js';
import { changeOf, fitting, identified, type PlantChange, PreviewedPlants, previewOf, readPreviewed, refuseTakenExternalIds, resultOf, rounds, type ValidatedLines, validateLines, type ValidLine } from './import.js';
import { claimPlants, findExternalIds, findNamesakes, findPlants, insertPlants, writePlants } from './import.repository.js';

interface Written {
  readonly changes: PlantChange[];
  readonly pending: PendingPlant[];
}

const maxAttempts = 3;

/** What is saved of a plant that a line created. */
interface Creation {
  readonly incarnation: number;
}

/**
 * Returns the keys of lines that, repeated, would be refused because their plants exist by then, by their index. A key with a space differs from
 * every Idempotency-Key.
 */
function creationKeys(context: RpcContext, lines: readonly ValidLine[]): Map<number, IdempotencyKey> {
  if (context.has('write:stock')) return new Map();
  const withStock = lines.filter(({ plant }) => plant.quantity !== undefined);
  const { subject } = context.principal;
  return new Map(withStock.map(({ line, text }) => [line, new IdempotencyKey(subject, `created by ${text}`, catalog.importPlants.pattern, Buffer.from(text))]));
}

/** Reads which plants the caller created by the same lines before. */
async function creationsOf(tx: Transaction, context: RpcContext, lines: readonly ValidLine[]) {
  const keys = creationKeys(context, lines);
  const results = await IdempotentResults.lockAndRead(tx, [...keys.values()]);
  const of = (line: number): number | undefined => {
    const key = keys.get(line);
    return key && (results.of(key)?.value as Creation | undefined)?.incarnation;
  };
  return { keys, results, of };
}

const labelsIn = (lines: readonly ValidLine[]): Label[] => [...new Map(lines.flatMap(({ plant }) => labelsToFill(plant)).map((label) => [labelKey(label), label])).values()];
const externalIdsIn = (lines: readonly Pick<ValidLine, 'plant'>[] | ValidatedLines['valid']): string[] => lines.flatMap(({ plant }) => plant.externalId ?? []);

@Injectable()
export class ImportService {
  constructor(
    private readonly database: Database,
    private readonly intents: StockIntentsService,
  ) {}

  /**
   * Creates and replaces plants by id, or changes them by external id. Leaves equal plants untouched. Resolves when the store has acknowledged all of them, including
   * those that an earlier call wrote.
   */
  async import(context: RpcContext, lines: readonly string[]): Promise<ImportLineResult[]> {
    const { valid, refused } = validateLines(lines);
    const results = new Map<number, ImportLineResult>(refused);
    for (const round of rounds(await this.withIds(valid))) {
      const { changes, pending } = await this.write(context, round);
      for (const change of changes) results.set(change.line, resultOf(change));
      await this.intents.syncAll(context, pending);
    }
    return lines.flatMap((_, line) => results.get(line) ?? []);
  }

  /** Draws ids for the plants of lines that have none, and whose external ids no plant has. */
  private async withIds(lines: ValidatedLines['valid']): Promise<ValidLine[]> {
    const named = lines.filter(({ plant }) => plant.id === undefined);
    if (named.length === 0) return identified(lines, new Map(), () => 0);
    const { owners, ids } = await this.database.transaction(async (tx) => {
      const known = await findExternalIds(tx, externalIdsIn(named));
      const missing = new Set(externalIdsIn(named).filter((one) => !known.has(one))).size;
      return { owners: known, ids: missing === 0 ? [] : await drawPlantIds(tx, missing) };
    });
    let next = 0;
    return identified(lines, owners, () => ids[next++] ?? 0);
  }

  /** What importing these lines would do, each after those before it: of as many of the first lines as an answer holds. Changes nothing. */
  async preview(context: RpcContext, lines: readonly string[]): Promise<ImportLinePreview[]> {
    const { valid: read, refused } = validateLines(lines, readPreviewed);
    const results = new Map<number, ImportLinePreview>(refused);
    await this.database.transaction(async (tx) => {
      const owners = await findExternalIds(tx, externalIdsIn(read));
      // No plant has an id below zero.
      const valid = identified(read, owners, (line) => -1 - line);
      const creations = await creationsOf(tx, context, valid);
      const labels = await knownIdsOfLabels(tx, labelsIn(valid));
      const known = new PreviewedPlants(await findPlants(tx, valid.map(({ plant }) => plant.id)), owners);
      const namesakes = await findNamesakes(tx, valid.flatMap(({ plant: { id, name } }) => (known.plants.has(id) ? [] : name)));
      for (const round of rounds(valid)) {
        const wanted = round.map((one) => changeOf(one, known.plants.get(one.plant.id), labels, context.has('write:stock'), creations.of(one.line)));
        for (const change of refuseTakenExternalIds(wanted, known.owners)) {
          results.set(change.line, previewOf(change, known.plants, namesakes));
          known.apply(change);
        }
      }
    });
    return fitting(lines.flatMap((_, line) => results.get(line) ?? []));
  }

  /** Repeats a transaction that another one preceded with an external id: then its line is refused, and the others are not. */
  private async write(context: RpcContext, lines: readonly ValidLine[]): Promise<Written> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.writeOnce(context, lines);
      } catch (error) {
        if (constraintOf(error) !== 'external_id_taken') throw error;
        if (attempt === maxAttempts) throw unavailable('The catalog', error);
      }
    }
  }

  private async writeOnce(context: RpcContext, lines: readonly ValidLine[]): Promise<Written> {
    const ids = await idsOfLabels(this.database, labelsIn(lines));
    const plantIds = lines.map(({ plant }) => plant.id);
    return this.database.transaction(async (tx) => {
      const creations = await creationsOf(tx, context, lines);
      const before = await claimPlants(tx, plantIds);
      // Another client chose the id meanwhile.
      if (lines.some(({ isDrawn, plant }) => isDrawn && before.has(plant.id))) throw unavailable('The catalog');
      const wanted = lines.map((one) => changeOf(one, before.get(one.plant.id), ids, context.has('write:stock'), creations.of(one.line)));
      const changes = refuseTakenExternalIds(wanted, await findExternalIds(tx, externalIdsIn(lines)));
      const incarnations = await this.writeChanges(tx, context, changes);
      for (const [line, incarnation] of incarnations) {
        const key = creations.keys.get(line);
        if (key) creations.results.add(key, { incarnation } satisfies Creation);
      }
      creations.results.write(tx);
      return { changes, pending: await findPendingPlants(tx, plantIds) };
    });
  }

  /** @returns the incarnations of the plants that were created, by the index of their line */
  private async writeChanges(tx: Transaction, context: RpcContext, changes: readonly PlantChange[]): Promise<Map<number, number>> {
    const created = changes.filter((one) => one.kind === 'created');
    const updated = changes.filter((one) => one.kind === 'updated');
    const leaseMs = leaseMsOf(context);
    const incarnations = await insertPlants(tx, created);
    intendToOpen(tx, created.map(({ id, units }) => ({ incarnation: incarnations.get(id) ?? 0, units })), leaseMs);
    const versions = await writePlants(tx, updated);
    const listed = updated.filter(({ before, after }) => after.status !== before.status);
    intendToList(tx, listed.map(({ after }) => ({ incarnation: after.incarnation, version: versions.get(after.id) ?? 0 })), leaseMs);
    const actor = actorOf(context);
    const changed = [...created.map(({ id }) => id), ...updated.map(({ after }) => after.id)];
    auditAll(tx, changed.map((target) => ({ actor, operation: catalog.importPlants, target })));
    return new Map(created.map(({ line, id }) => [line, incarnations.get(id) ?? 0]));
  }
}
