import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

type Reader = Pick<Transaction, 'query'>;

/** The stamp of the part of the catalogue that a row of `plants` is in, as a column of the statement that reads the row. */
export const stampOfPlant = `(SELECT stamp::text FROM catalogue_stamps WHERE part = plants.id & 15) AS stamp`;

/** The stamp of the whole catalogue: another one as soon as one of the parts' is. One row with the column `stamp`. */
export const stampOfAll = `SELECT encode(sha256(string_agg(uuid_send(stamp), '' ORDER BY part)), 'hex') AS stamp FROM catalogue_stamps`;

const current: Statement = {
  name: 'read-stamps',
  text: `SELECT (${stampOfAll}) AS whole, string_agg(stamp::text, ',' ORDER BY part) AS parts FROM catalogue_stamps`,
};

/** The stamp of the whole and those of all parts. */
export async function readStamps(db: Reader): Promise<string[]> {
  const { whole, parts } = onlyRow(await db.query<{ whole: string; parts: string }>(current));
  return [whole, ...parts.split(',')];
}
