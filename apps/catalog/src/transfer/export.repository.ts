import type { Database, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { PlantState } from '../plants/plant.js';
import { columns } from '../plants/plants.repository.js';

type Reader = Pick<Database, 'query'>;

/** Exports this transaction's snapshot, so that other transactions can import it. @returns the snapshot's id */
export async function exportSnapshot(tx: Transaction): Promise<string> {
  return onlyRow(await tx.query<{ snapshot: string }>('SELECT pg_export_snapshot() AS snapshot')).snapshot;
}

export async function registerExport(db: Reader, snapshot: string): Promise<void> {
  await db.query(
    // Postgres reuses snapshot ids after a restart.
    'INSERT INTO plant_exports (snapshot) VALUES ($1) ON CONFLICT (snapshot) DO UPDATE SET used_at = now()',
    [snapshot],
  );
}

/** Records that an export was read. @returns whether its snapshot is still held open */
export async function touchExport(db: Reader, snapshot: string): Promise<boolean> {
  const rows = await db.query('UPDATE plant_exports SET used_at = now() WHERE snapshot = $1 RETURNING 1', [snapshot]);
  return rows.length === 1;
}

/** Returns when an export was read last, as text: only for comparing, since the clock may have been set. Undefined: it has ended. */
export async function findLastUse(db: Reader, snapshot: string): Promise<string | undefined> {
  const [found] = await db.query<{ usedAt: string }>('SELECT used_at::text AS "usedAt" FROM plant_exports WHERE snapshot = $1', [snapshot]);
  return found?.usedAt;
}

/** Deletes an export, and those whose holders died. */
export async function endExport(db: Reader, snapshot: string): Promise<void> {
  await db.query(`DELETE FROM plant_exports WHERE snapshot = $1 OR used_at < now() - interval '2 hours'`, [snapshot]);
}

/** Reads the next plants in order of creation: at most 1,000, and about 512 KiB. */
export function readPlants(tx: Transaction, after: number): Promise<PlantState[]> {
  return tx.query<PlantState>(
    {
      name: 'read-export',
      text: `
        SELECT ${columns} FROM plants JOIN (
          SELECT incarnation, bytes, sum(bytes) OVER (ORDER BY incarnation) AS so_far
          FROM (SELECT incarnation, bytes FROM plants WHERE incarnation > $1 ORDER BY incarnation LIMIT 1000) AS next
        ) AS page USING (incarnation)
        WHERE page.so_far - page.bytes <= 262144 ORDER BY plants.incarnation`,
    },
    [after],
  );
}
