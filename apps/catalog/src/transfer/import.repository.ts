import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { bytesOf, type PlantAttributes, type PlantState, tagNames } from '../plants/plant.js';
import { columns, insertMetadata, rewriteMetadata } from '../plants/plants.repository.js';
import { wordsOfPlant } from '../words.js';
import type { PlantChange } from './import.js';

const claim: Statement = {
  name: 'claim-plants',
  text: 'SELECT count(pg_advisory_xact_lock(id)) FROM (SELECT id FROM unnest($1::bigint[]) AS id ORDER BY id) AS sorted',
};
const lock: Statement = {
  name: 'lock-plants',
  text: `SELECT ${columns} FROM plants WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`,
};

/** Locks the plants with these ids, and reserves ids that are free, until the transaction ends. @returns the plants by id */
export async function claimPlants(tx: Transaction, ids: readonly number[]): Promise<Map<number, PlantState>> {
  tx.send(claim, [ids]);
  return new Map((await tx.query<PlantState>(lock, [ids])).map((plant) => [plant.id, plant]));
}

/** Returns the plants that have these ids, by id, without locking them. */
export async function findPlants(tx: Transaction, ids: readonly number[]): Promise<Map<number, PlantState>> {
  const found = await tx.query<PlantState>({ name: 'find-plants', text: `SELECT ${columns} FROM plants WHERE id = ANY($1)` }, [ids]);
  return new Map(found.map((plant) => [plant.id, plant]));
}

/** Returns the ids of the plants that have these external ids, by external id. */
export async function findExternalIds(tx: Transaction, externalIds: readonly string[]): Promise<Map<string, number>> {
  if (externalIds.length === 0) return new Map();
  const rows = await tx.query<{ externalId: string; id: number }>(
    { name: 'find-external-ids', text: 'SELECT external_id AS "externalId", id FROM plants WHERE external_id = ANY($1)' },
    [externalIds],
  );
  return new Map(rows.map(({ externalId, id }) => [externalId, id]));
}

/** Returns a plant for each of the names that one has, in letters of any size. */
export async function findNamesakes(tx: Transaction, names: readonly string[]): Promise<Map<string, number>> {
  if (names.length === 0) return new Map();
  const rows = await tx.query<{ name: string; id: number | null }>(
    {
      name: 'find-namesakes',
      text: 'SELECT name, (SELECT min(id) FROM plants WHERE lower(plants.name) COLLATE "C" = lower(t.name) COLLATE "C") AS id FROM unnest($1::text[]) AS t (name)',
    },
    [names],
  );
  return new Map(rows.flatMap(({ name, id }) => (id === null ? [] : [[name, id]])));
}

function rowOf({ id, ...plant }: PlantAttributes & { readonly id: number }): object {
  const { nameWords, labelWords } = wordsOfPlant(plant);
  return {
    id,
    name: plant.name,
    category: plant.category,
    photo_urls: plant.photoUrls,
    tags: plant.tags,
    status: plant.status,
    external_id: plant.externalId,
    metadata: plant.metadata,
    bytes: bytesOf({ id, ...plant }),
    name_words: nameWords,
    label_words: labelWords,
  };
}

const given = `jsonb_to_recordset($1) AS t (n integer, id bigint, name text, category jsonb, photo_urls text[], tags jsonb, status text, external_id text, metadata jsonb, bytes integer, name_words text[], label_words text[])`;

// Draws versions in the order of the lines, so that lists show the plants in this order.
const insert: Statement = {
  name: 'insert-plants',
  text: `
    INSERT INTO plants (id, incarnation, version, name, category, photo_urls, tags, status, external_id, metadata, bytes, name_words, label_words)
    SELECT id, drawn, drawn, name, category, photo_urls, tags, status, external_id, metadata, bytes, name_words, label_words
    FROM (SELECT sorted.*, nextval('plant_versions') AS drawn FROM (SELECT * FROM ${given} ORDER BY n) AS sorted) AS numbered
    RETURNING id, incarnation`,
};

/** Inserts plants whose ids are claimed. @returns incarnations by id */
export async function insertPlants(tx: Transaction, created: readonly Extract<PlantChange, { kind: 'created' }>[]): Promise<Map<number, number>> {
  if (created.length === 0) return new Map();
  const rows = created.map(({ id, attributes }, n) => ({ n, ...rowOf({ id, ...attributes }) }));
  const inserted = await tx.query<{ id: number; incarnation: number }>(insert, [JSON.stringify(rows)]);
  const incarnations = new Map(inserted.map(({ id, incarnation }) => [id, incarnation]));
  insertTags(tx, created.flatMap(({ id, attributes }) => tagNames(attributes).map((name) => ({ name, incarnation: incarnations.get(id) ?? 0 }))));
  insertMetadata(tx, created.map(({ id, attributes: { metadata } }) => ({ metadata, incarnation: incarnations.get(id) ?? 0 })));
  return incarnations;
}

const update: Statement = {
  name: 'write-plants',
  text: `
    UPDATE plants SET version = nextval('plant_versions'), name = t.name, category = t.category, photo_urls = t.photo_urls, tags = t.tags,
      status = t.status, external_id = t.external_id, metadata = t.metadata, updated_at = now(), bytes = t.bytes, name_words = t.name_words, label_words = t.label_words
    FROM ${given} WHERE plants.id = t.id RETURNING plants.id, plants.version`,
};

/** Writes locked plants. @returns versions by id */
export async function writePlants(tx: Transaction, updated: readonly Extract<PlantChange, { kind: 'updated' }>[]): Promise<Map<number, number>> {
  if (updated.length === 0) return new Map();
  const written = await tx.query<{ id: number; version: number }>(update, [JSON.stringify(updated.map(({ after }) => rowOf(after)))]);
  const retagged = updated.filter(({ before, after }) => tagNames(before).join('\0') !== tagNames(after).join('\0'));
  if (retagged.length > 0) {
    tx.send({ name: 'delete-tags', text: 'DELETE FROM plant_tags WHERE incarnation = ANY($1::bigint[])' }, [retagged.map(({ after }) => after.incarnation)]);
    insertTags(tx, retagged.flatMap(({ after }) => tagNames(after).map((name) => ({ name, incarnation: after.incarnation }))));
  }
  rewriteMetadata(tx, updated);
  return new Map(written.map(({ id, version }) => [id, version]));
}

function insertTags(tx: Transaction, tags: readonly { readonly name: string; readonly incarnation: number }[]): void {
  if (tags.length === 0) return;
  tx.send(
    { name: 'insert-tags', text: 'INSERT INTO plant_tags (name, incarnation) SELECT * FROM unnest($1::text[], $2::bigint[])' },
    [tags.map(({ name }) => name), tags.map(({ incarnation }) => incarnation)],
  );
}
