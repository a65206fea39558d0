import { isDeepStrictEqual } from 'node:util';
import type { PageBounds } from '@plant-shop/platform/patterns/paging';
import { drawFreeIds } from '@plant-shop/platform/postgres/sequences';
import type { Reader, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { stampOfAll, stampOfPlant } from '../catalog-versions/catalog-versions.js';
import { wordsOfPlant } from '../words.js';
import { bytesOf, pairsOf, type PlantAttributes, type PlantState, tagNames } from './plant.js';

export const columns = `plants.id, plants.incarnation, plants.version, plants.name, plants.category,
  plants.photo_urls AS "photoUrls", plants.tags, plants.status, plants.external_id AS "externalId", plants.metadata, plants.updated_at AS "updatedAt"`;

export interface Stamped {
  /** The version of the catalogue, or of the plant's part, that was read: see `catalog-versions.ts`. */
  readonly stamp: string;
}

const findById: Statement = { name: 'find-plant', text: `SELECT ${columns}, ${stampOfPlant} FROM plants WHERE id = $1` };

/** Finds a plant, with the version of its part of the catalogue. */
export async function findPlant(db: Reader, plantId: number): Promise<(PlantState & Stamped) | undefined> {
  const [plant] = await db.query<PlantState & Stamped>(findById, [plantId]);
  return plant;
}

const resolve: Statement = {
  name: 'resolve-plants',
  text: `SELECT id, CASE WHEN n = 1 OR bytes <= $2 THEN name END AS name, CASE WHEN n = 1 OR bytes <= $2 THEN photo_urls END AS "photoUrls"
         FROM (
           SELECT id, name, photo_urls, sum(bytes) OVER asked AS bytes, row_number() OVER asked AS n
           FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (id, place) JOIN plants USING (id) WINDOW asked AS (ORDER BY place)
         ) AS found ORDER BY n`,
};

/** What orders show of a plant; null: it does not fit into the bytes. */
export type ResolvedRow = { readonly id: number } & ({ readonly name: string; readonly photoUrls: string[] } | { readonly name: null });

/** Finds plants in the order of the ids, as many as fit, at least one. */
export const resolvePlants = (db: Reader, plantIds: readonly number[], maxBytes: number): Promise<ResolvedRow[]> => db.query(resolve, [plantIds, maxBytes]);

const lockById: Statement = { name: 'lock-plant', text: `SELECT ${columns} FROM plants WHERE id = $1 FOR NO KEY UPDATE` };

export async function lockPlant(tx: Transaction, plantId: number): Promise<PlantState | undefined> {
  const [plant] = await tx.query<PlantState>(lockById, [plantId]);
  return plant;
}

export async function lockPlantByIncarnation(tx: Transaction, incarnation: number): Promise<PlantState | undefined> {
  const [plant] = await tx.query<PlantState>(
    `SELECT ${columns} FROM plants WHERE incarnation = $1 FOR NO KEY UPDATE`,
    [incarnation],
  );
  return plant;
}

// Draws a version with each id, used or not: the store's `readHighestNumbers` relies on ids not being drawn faster than versions.
// The scalar subquery is one index look-up per id.
const drawFree = `
  WITH drawn AS MATERIALIZED (
    SELECT nextval('plant_ids') AS id, nextval('plant_versions') AS version FROM generate_series(1, $1)
  )
  SELECT id FROM drawn WHERE (SELECT true FROM plants WHERE plants.id = drawn.id) IS NULL ORDER BY id`;

/** Draws at least so many ids that no plant has at this moment. A client may still take one: claim it and insert. */
export const drawPlantIds = (db: Reader, count: number): Promise<number[]> =>
  drawFreeIds({ count }, async (values) => (await db.query<{ id: number }>(drawFree, [values])).map((row) => row.id));

export const drawPlantId = async (tx: Transaction): Promise<number> => onlyRow((await drawPlantIds(tx, 1)).slice(0, 1));

/**
 * Takes an advisory lock on an id until the transaction ends. Without it, two creations of one id, with a deletion in between,
 * could draw their incarnations in one order and insert in the other.
 */
export async function claimPlantId(tx: Transaction, plantId: number): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [plantId]);
}

const insert: Statement = {
  name: 'insert-plant',
  text: `
    INSERT INTO plants (id, incarnation, version, name, category, photo_urls, tags, status, bytes, name_words, label_words, external_id, metadata)
    SELECT $1::bigint, drawn, drawn, $2::text, $3::jsonb, $4::text[], $5::jsonb, $6::text, $7::integer, $8::text[], $9::text[], $10::text, $11::jsonb
    FROM nextval('plant_versions') AS drawn
    ON CONFLICT (id) DO NOTHING RETURNING ${columns}`,
};

/** Inserts a plant of a new incarnation; undefined: the id is taken. Claim the id in an earlier statement. */
export async function insertPlant(
  tx: Transaction,
  plantId: number,
  attributes: PlantAttributes,
): Promise<PlantState | undefined> {
  const [plant] = await tx.query<PlantState>(insert, toColumns({ id: plantId, ...attributes }));
  if (plant) {
    await insertTags(tx, plant);
    insertMetadata(tx, [plant]);
  }
  return plant;
}

const write: Statement = {
  name: 'write-plant',
  text: `
    UPDATE plants SET version = nextval('plant_versions'), name = $2, category = $3, photo_urls = $4, tags = $5,
      status = $6, bytes = $7, name_words = $8, label_words = $9, external_id = $10, metadata = $11, updated_at = now()
    WHERE id = $1 RETURNING version, updated_at AS "updatedAt"`,
};

/** Writes a plant that this transaction has locked. @returns the plant at its new version */
export async function writePlant(tx: Transaction, before: PlantState, after: PlantState): Promise<PlantState> {
  const written = onlyRow(await tx.query<Pick<PlantState, 'version' | 'updatedAt'>>(write, toColumns(after)));
  if (tagNames(before).join('\0') !== tagNames(after).join('\0')) {
    await tx.execute('DELETE FROM plant_tags WHERE incarnation = $1', [after.incarnation]);
    await insertTags(tx, after);
  }
  rewriteMetadata(tx, [{ before, after }]);
  return { ...after, ...written };
}

const insertPairs: Statement = {
  name: 'insert-plant-metadata',
  text: 'INSERT INTO plant_metadata (pair, incarnation) SELECT * FROM unnest($1::text[], $2::bigint[])',
};

/** Indexes the metadata of new plants. */
export function insertMetadata(tx: Transaction, plants: readonly Pick<PlantState, 'incarnation' | 'metadata'>[]): void {
  const rows = plants.flatMap(({ incarnation, metadata }) => pairsOf(metadata).map((pair) => ({ pair, incarnation })));
  if (rows.length > 0) tx.send(insertPairs, [rows.map(({ pair }) => pair), rows.map(({ incarnation }) => incarnation)]);
}

/** Indexes the metadata of plants whose metadata may have changed. */
export function rewriteMetadata(tx: Transaction, plants: readonly { readonly before: PlantState; readonly after: PlantState }[]): void {
  const changed = plants.filter(({ before, after }) => !isDeepStrictEqual(before.metadata, after.metadata));
  const indexed = changed.filter(({ before }) => before.metadata !== null);
  if (indexed.length > 0) {
    tx.send({ name: 'delete-plant-metadata', text: 'DELETE FROM plant_metadata WHERE incarnation = ANY($1::bigint[])' }, [indexed.map(({ after }) => after.incarnation)]);
  }
  insertMetadata(tx, changed.map(({ after }) => after));
}

async function insertTags(tx: Transaction, plant: PlantState): Promise<void> {
  const names = tagNames(plant);
  if (names.length === 0) return;
  await tx.execute(
    { name: 'insert-plant-tags', text: 'INSERT INTO plant_tags (name, incarnation) SELECT unnest($1::text[]), $2' },
    [names, plant.incarnation],
  );
}

function toColumns(plant: PlantAttributes & { readonly id: number }): unknown[] {
  const { nameWords, labelWords } = wordsOfPlant(plant);
  return [
    plant.id,
    plant.name,
    plant.category && JSON.stringify(plant.category),
    plant.photoUrls,
    JSON.stringify(plant.tags),
    plant.status,
    bytesOf(plant),
    nameWords,
    labelWords,
    plant.externalId,
    plant.metadata && JSON.stringify(plant.metadata),
  ];
}

/** Deletes a plant with its tags and intent; its images are swept later. @returns whether the plant existed */
export async function deletePlant(tx: Transaction, incarnation: number): Promise<boolean> {
  return (await tx.execute('DELETE FROM plants WHERE incarnation = $1', [incarnation])) === 1;
}

/** Finds the plant with an external id. */
export async function findByExternalId(db: Reader, externalId: string): Promise<{ readonly id: number } | undefined> {
  const [plant] = await db.query<{ id: number }>('SELECT id FROM plants WHERE external_id = $1', [externalId]);
  return plant;
}

/** A list of the plants that have any of these statuses, or any of these tags. */
export interface PlantList {
  readonly by: 'status' | 'tags';
  readonly anyOf: readonly string[];
}

/** The bytes read for a page: more than a page may hold, so that the first row that does not fit is read and reveals a next page. */
export const readBytes = 600 * 1024;

// Reads each filter value from an index in list order, only as far as one page needs, so the cost is independent of the catalogue's
// size. The running sum of bytes keeps 1,000 plants of 400 KB each from leaving the database.
const pageOf = (newest: string): string => `
  SELECT whole.stamp, page.* FROM (${stampOfAll}) AS whole LEFT JOIN (
    SELECT ${columns}, plants.bytes, sum(plants.bytes) OVER (ORDER BY plants.incarnation DESC) AS "bytesSoFar"
    FROM plants JOIN (
      SELECT DISTINCT hit.incarnation
      FROM unnest($1::text[]) AS wanted (value) CROSS JOIN LATERAL (${newest} ORDER BY incarnation DESC LIMIT $3 + 1) AS hit
      ORDER BY hit.incarnation DESC LIMIT $3 + 1
    ) AS hits USING (incarnation)
  ) AS page ON "bytesSoFar" - bytes <= $4
  ORDER BY incarnation DESC`;

const pages: Readonly<Record<PlantList['by'], Statement>> = {
  status: {
    name: 'page-by-status',
    text: pageOf('SELECT incarnation FROM plants WHERE status = wanted.value AND incarnation < $2'),
  },
  tags: {
    name: 'page-by-tags',
    text: pageOf('SELECT incarnation FROM plant_tags WHERE name = wanted.value AND incarnation < $2'),
  },
};

/** Plants, with the version of the whole catalogue at which they were read. */
export interface PlantRows extends Stamped {
  readonly plants: readonly PlantState[];
}

/** Reads a page of a list, newest first, plus one more plant if there is one. */
export async function findPage(db: Reader, { by, anyOf }: PlantList, { after, limit }: PageBounds): Promise<PlantRows> {
  // An empty list yields one row, with the stamp alone.
  const rows = await db.query<(PlantState | { readonly id: null }) & Stamped>(pages[by], [[...new Set(anyOf)], after, limit, readBytes]);
  return { stamp: rows[0]?.stamp ?? '', plants: rows.filter((row): row is PlantState & Stamped => row.id !== null) };
}
