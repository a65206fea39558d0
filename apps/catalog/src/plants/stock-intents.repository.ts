import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { IntentTable } from '@plant-shop/platform/patterns/saga/intent-table';
import type { PlantState } from './plant.js';

/** The calls to the store that are pending for one plant (table `stock_intents`). */
export interface StockIntent {
  readonly incarnation: number;
  /** `openStock` is pending. */
  readonly opens: boolean;
  /** The units that `openStock` passes; null: the store's `INITIAL_STOCK`. */
  readonly units: number | null;
  /** The plant version whose status `listStock` has yet to pass; null: none. */
  readonly listsVersion: number | null;
  /** The latest attempt to retire the plant's stock; null unless the plant is being deleted. */
  readonly retireAttempt: number | null;
}

/** An intent with the plant's present state, which the calls pass to the store. */
export type PendingPlant = Pick<PlantState, 'id' | 'incarnation' | 'version' | 'status'> & StockIntent;

/** Returns whether `openStock` or `listStock` is pending. `retirePlant` is not considered: deletions call it separately. */
export const hasPendingCalls = ({ opens, listsVersion }: Pick<StockIntent, 'opens' | 'listsVersion'>): boolean =>
  opens || listsVersion !== null;

/**
 * Returns what remains of an intent once the store has acknowledged the opening and the status of `version`; undefined: nothing.
 * A later status and a deletion stay pending.
 */
export function afterAcknowledgement(intent: StockIntent, version: number): StockIntent | undefined {
  const { listsVersion, retireAttempt } = intent;
  const stillLists = listsVersion !== null && listsVersion > version;
  if (!stillLists && retireAttempt === null) return undefined;
  return { ...intent, opens: false, listsVersion: stillLists ? listsVersion : null };
}

/**
 * Returns what remains of an intent once the store has refused to retire the plant because of open orders; undefined: nothing.
 * A later attempt in progress stays pending: it may find those orders closed, and then its deletion must happen.
 */
export function afterRefusal(intent: StockIntent, attempt: number): StockIntent | undefined {
  if (intent.retireAttempt !== attempt) return intent;
  return hasPendingCalls(intent) ? { ...intent, retireAttempt: null } : undefined;
}

const intentColumns = `stock_intents.incarnation, opens, units, lists_version AS "listsVersion",
  retire_attempt AS "retireAttempt"`;
const columns = `plants.id, plants.version, plants.status, ${intentColumns}`;

export const stockIntents = new IntentTable<number, PendingPlant>({
  table: 'stock_intents',
  owners: 'plants',
  key: 'incarnation',
  leasedUntil: 'next_try_at',
  attempt: 'retire_attempt',
  attempts: 'retire_attempts',
  columns,
});

const recordOpenings = stockIntents.recorderOf({ incarnation: 'bigint', opens: 'boolean', units: 'bigint' });
const recordListings = stockIntents.recorderOf({ incarnation: 'bigint', lists_version: 'bigint' });

export const intendToOpen = (
  tx: Transaction,
  plants: readonly { readonly incarnation: number; readonly units: number | null }[],
  leaseMs: number,
): void => recordOpenings(tx, plants.map(({ incarnation, units }) => ({ incarnation, opens: true, units })), leaseMs);

export const intendToList = (
  tx: Transaction,
  plants: readonly { readonly incarnation: number; readonly version: number }[],
  leaseMs: number,
): void => recordListings(tx, plants.map(({ incarnation, version }) => ({ incarnation, lists_version: version })), leaseMs);

const pending: Statement = {
  name: 'find-pending-plants',
  text: `
    SELECT ${columns} FROM plants JOIN stock_intents ON stock_intents.incarnation = plants.incarnation
    WHERE plants.id = ANY($1) AND (opens OR lists_version IS NOT NULL) ORDER BY plants.id`,
};

/** Finds the pending openings and listings of the plants with these ids. */
export function findPendingPlants(tx: Transaction, plantIds: readonly number[]): Promise<PendingPlant[]> {
  return tx.query<PendingPlant>(pending, [plantIds]);
}

/** Finds the pending opening or listing of the plant that had this version. */
export async function findPendingPlant(tx: Transaction, plantId: number, version: number): Promise<PendingPlant | undefined> {
  const [plant] = await findPendingPlants(tx, [plantId]);
  // Incarnations and versions come from one sequence, so a later plant with the same id has an incarnation above `version`.
  return plant && plant.incarnation <= version ? plant : undefined;
}

/** Deletes acknowledged openings, except those to which a listing or a deletion was added meanwhile. */
export async function deleteOpenings(tx: Transaction, incarnations: readonly number[]): Promise<void> {
  await tx.execute(
    {
      name: 'delete-openings',
      text: `DELETE FROM stock_intents WHERE opens AND lists_version IS NULL AND retire_attempt IS NULL AND incarnation IN (
               SELECT incarnation FROM stock_intents WHERE incarnation = ANY($1) ORDER BY incarnation FOR UPDATE)`,
    },
    [incarnations],
  );
}

export async function lockIntent(tx: Transaction, incarnation: number): Promise<StockIntent | undefined> {
  const [intent] = await tx.query<StockIntent>(
    { name: 'lock-intent', text: `SELECT ${intentColumns} FROM stock_intents WHERE incarnation = $1 FOR UPDATE` },
    [incarnation],
  );
  return intent;
}

export async function writeIntent(tx: Transaction, intent: StockIntent): Promise<void> {
  await tx.execute(
    'UPDATE stock_intents SET opens = $2, lists_version = $3, retire_attempt = $4 WHERE incarnation = $1',
    [intent.incarnation, intent.opens, intent.listsVersion, intent.retireAttempt],
  );
}

export async function deleteIntent(tx: Transaction, incarnation: number): Promise<void> {
  await tx.execute({ name: 'delete-intent', text: 'DELETE FROM stock_intents WHERE incarnation = $1' }, [incarnation]);
}
