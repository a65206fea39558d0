import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

type Reader = Pick<Transaction, 'query'>;

/** The stamp of the part of the catalogue that a row of `plants` is in, as a column of the statement that reads the row. */
export const stampOfPlant = `(SELECT stamp::text FROM catalogue_stamps WHERE part = plants.id & 15) AS stamp`;

/** The stamp of the whole catalogue, another one as soon as one of the parts' is: one row with the column `stamp`. */
export const stampOfAll = `
  SELECT encode(sha256(string_agg(stamp::text, ',' ORDER BY stamp)::bytea), 'hex') AS stamp FROM catalogue_stamps`;

// Asked hundreds of times a second. Sorted and hashed here it would cost twice as much (50 and 110 µs with Postgres 15), and
// mostly nothing has changed.
const partsNow: Statement = { name: 'read-stamps', text: `SELECT string_agg(stamp::text, ',') AS parts FROM catalogue_stamps` };

/** The stamps of all parts, in no order. */
export async function readStampsOfParts(db: Reader): Promise<string> {
  return onlyRow(await db.query<{ parts: string }>(partsNow)).parts;
}
