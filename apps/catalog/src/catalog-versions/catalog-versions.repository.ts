import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

type Reader = Pick<Transaction, 'query'>;

/**
 * A column with the version (`stamp`) of the part of the catalogue that a row of `plants` belongs to, for the statement that reads
 * the row. Each of the 16 parts has a version that every change of one of its plants replaces (docs/decisions/cached-reads.md).
 */
export const stampOfPlant = `(SELECT stamp::text FROM catalogue_stamps WHERE part = plants.id & 15) AS stamp`;

/** A query for the version of the whole catalogue, a hash of its parts' versions: one row with the column `stamp`. */
export const stampOfAll = `
  SELECT encode(sha256(string_agg(stamp::text, ',' ORDER BY stamp)::bytea), 'hex') AS stamp FROM catalogue_stamps`;

// Runs hundreds of times a second. Sorting and hashing in SQL would double the cost (50 and 110 µs with Postgres 15), and usually
// nothing has changed.
const partsNow: Statement = { name: 'read-stamps', text: `SELECT string_agg(stamp::text, ',') AS parts FROM catalogue_stamps` };

/** Returns the versions of all parts, comma-separated, in no particular order. */
export async function readPartVersions(db: Reader): Promise<string> {
  return onlyRow(await db.query<{ parts: string }>(partsNow)).parts;
}
