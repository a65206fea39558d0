import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { IntentTable } from '@plant-shop/platform/patterns/saga/intent-table';
import { type StockIntent, type PendingPlant } from './stock-intent.js';

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
