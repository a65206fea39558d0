import { maxFacetValues, type PlantFacets, type PlantSort, type PlantStatus } from '@plant-shop/contracts/catalog';
import type { MetadataPairs } from '@plant-shop/contracts/fields';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { stampOfAll } from '../catalog-versions/catalog-versions.js';
import type { PlantState } from '../plants/plant.js';
import { columns, readBytes, type Stamped } from '../plants/plants.repository.js';
import { firstPosition, type SearchPosition } from './search-position.js';
import { countedPlants, type ListLength, type PlantLists, type SearchPlan } from './search-plan.js';

/** An indexed word that matches a word of the query, with the length of its list of plants. */
export interface FoundTerm extends ListLength {
  /** The number of the query's word. */
  readonly number: number;
  readonly queryWord: string;
  /** Null: no plant has a word that equals or begins with `queryWord`. */
  readonly word: string | null;
  readonly distance: number;
  /** Whether the server has pg_trgm. */
  readonly hasTrigrams: boolean;
}

// Range bounds instead of an equality, and sorted by category: for an equality, Postgres may scan all plants by incarnation and
// filter, which takes long for a rare category. Only the category's own index has this order.
const inCategory = (before: string): string =>
  `plants.category ->> 'name' >= wanted.value AND (plants.category ->> 'name', plants.incarnation) < (wanted.value, ${before})`;
const newestFirst = 'incarnation DESC';
const newestOfCategoryFirst = `plants.category ->> 'name' DESC, plants.incarnation DESC`;

const lengthOf = (list: string, order = newestFirst): string =>
  `SELECT count(*)::integer AS plants, min(incarnation) AS oldest FROM (${list} ORDER BY ${order} LIMIT ${countedPlants}) AS newest`;
const lengthOfWord = lengthOf('SELECT incarnation FROM plant_words WHERE plant_words.word = term.word');

/** The most completions of a query's word; the alphabetically first ones are used. */
const maxCompletions = 16;

// Skip scan: steps from distinct word to distinct word, so a word with a million entries costs as much as one with a single entry.
const findTerms: Statement = {
  name: 'find-terms',
  text: `
    SELECT query.number::integer, query.said AS "queryWord", term.word, coalesce((term.word <> query.said)::integer, 0) AS distance,
      coalesce(length.plants, 0) AS plants, length.oldest,
      to_regprocedure('similarity(text, text)') IS NOT NULL AS "hasTrigrams"
    FROM (SELECT said COLLATE "C" AS said, number FROM unnest($1::text[]) WITH ORDINALITY AS given (said, number)) AS query
    LEFT JOIN LATERAL (
      WITH RECURSIVE step AS (
        (SELECT word, 1 AS number FROM plant_words WHERE word >= query.said ORDER BY word LIMIT 1)
        UNION ALL
        SELECT (SELECT next.word FROM plant_words AS next WHERE next.word > step.word ORDER BY next.word LIMIT 1), step.number + 1
        FROM step WHERE step.number < ${maxCompletions} AND starts_with(step.word, query.said)
      )
      SELECT word FROM step WHERE starts_with(word, query.said)
    ) AS term ON true
    LEFT JOIN LATERAL (${lengthOfWord}) AS length ON term.word IS NOT NULL
    ORDER BY query.number, term.word`,
};

/** Returns the words of the query, each with the indexed words that equal or begin with it. */
export function findCompletions(tx: Transaction, words: readonly string[]): Promise<FoundTerm[]> {
  return tx.query<FoundTerm>(findTerms, [words]);
}

// The vocabulary keeps the words of deleted plants, so each is looked up before it counts; LATERAL looks up no more than needed.
const findSimilar: Statement = {
  name: 'find-similar-terms',
  text: `
    SELECT query.number, query.said AS "queryWord", term.word, 2 AS distance, length.plants, length.oldest, true AS "hasTrigrams"
    FROM unnest($1::text[], $2::integer[]) AS query (said, number)
    CROSS JOIN LATERAL (
      SELECT known.word FROM (
        SELECT word FROM search_words WHERE word % query.said ORDER BY similarity(word, query.said) DESC, word OFFSET 0
      ) AS known
      CROSS JOIN LATERAL (SELECT FROM plant_words WHERE plant_words.word = known.word LIMIT 1) AS used
      LIMIT 5
    ) AS term
    CROSS JOIN LATERAL (${lengthOfWord}) AS length`,
};

/** Returns indexed words similar to these words, by shared trigrams. Requires pg_trgm. */
export function findSimilarTerms(tx: Transaction, words: readonly Pick<FoundTerm, 'queryWord' | 'number'>[]): Promise<FoundTerm[]> {
  return tx.query<FoundTerm>(findSimilar, [words.map(({ queryWord }) => queryWord), words.map(({ number }) => number)]);
}

const measure = {
  tags: {
    name: 'measure-tags',
    text: `SELECT length.* FROM unnest($1::text[]) AS wanted (value)
      CROSS JOIN LATERAL (${lengthOf('SELECT incarnation FROM plant_tags WHERE name = wanted.value')}) AS length`,
  },
  category: {
    name: 'measure-category',
    text: `SELECT length.* FROM unnest($1::text[]) AS wanted (value)
      CROSS JOIN LATERAL (${lengthOf(`SELECT incarnation FROM plants WHERE ${inCategory(String(Number.MAX_SAFE_INTEGER))}`, newestOfCategoryFirst)}) AS length`,
  },
  metadata: {
    name: 'measure-metadata',
    text: `SELECT length.* FROM unnest($1::text[]) AS wanted (value)
      CROSS JOIN LATERAL (${lengthOf('SELECT incarnation FROM plant_metadata WHERE pair = wanted.value')}) AS length`,
  },
  externalId: { name: 'measure-external-id', text: lengthOf('SELECT incarnation FROM plants WHERE external_id = ANY($1::text[])') },
} satisfies Record<string, Statement>;

export interface MeasurableLists {
  readonly of: keyof typeof measure;
  readonly values: readonly string[];
}

/** Measures the list of each value, to plan the search. */
export const measureLists = (tx: Transaction, { of, values }: MeasurableLists): Promise<ListLength[]> => tx.query<ListLength>(measure[of], [values]);

/** Conditions that are checked plant by plant. */
export interface PlantConditions {
  readonly status?: readonly PlantStatus[];
  readonly tags?: readonly string[];
  readonly category?: string;
  readonly externalId?: string;
  readonly metadata?: MetadataPairs;
}

// Parameters $10 to $15: the newest plants, at most $15, of those that the lists have below $12 and not below $14. A plant may be in
// several lists. Plants older than the horizon are dropped: a list that was not read to its end may lack them.
const candidatesFrom = (of: PlantLists['of']): string => `
  hits AS MATERIALIZED (
    SELECT wanted.value, wanted.distance, hit.* FROM unnest($10::text[], $11::integer[]) AS wanted (value, distance)
    CROSS JOIN LATERAL (${newestOf(of, '$12', '$13')}) AS hit
  ), lists_read AS (
    SELECT coalesce(max(oldest) FILTER (WHERE plants = $13), 0) AS oldest
    FROM (SELECT count(*) AS plants, min(incarnation) AS oldest FROM hits GROUP BY value) AS list
  ), candidates AS MATERIALIZED (
    SELECT incarnation, min(2 * distance + (NOT in_name)::integer) AS score FROM hits
    WHERE incarnation >= greatest((SELECT oldest FROM lists_read), $14) GROUP BY incarnation ORDER BY incarnation DESC LIMIT $15
  ), horizon AS (
    SELECT greatest((SELECT oldest FROM lists_read), $14, CASE WHEN count(*) = $15 THEN min(incarnation) END) AS at,
      coalesce(max(incarnation), 0) AS newest
    FROM candidates
  )`;

/** Lists the newest entries of `wanted.value`. */
function newestOf(of: PlantLists['of'], before: string, limit: string): string {
  const lists: Readonly<Record<PlantLists['of'], string>> = {
    words: `SELECT incarnation, in_name FROM plant_words WHERE word = wanted.value AND incarnation < ${before}`,
    tags: `SELECT incarnation, true AS in_name FROM plant_tags WHERE name = wanted.value AND incarnation < ${before}`,
    category: `SELECT incarnation, true AS in_name FROM plants WHERE ${inCategory(`${before}::bigint`)}`,
    metadata: `SELECT incarnation, true AS in_name FROM plant_metadata WHERE pair = wanted.value AND incarnation < ${before}`,
    externalId: `SELECT incarnation, true AS in_name FROM plants WHERE external_id = wanted.value AND incarnation < ${before}`,
    status: `SELECT incarnation, true AS in_name FROM plants WHERE status = wanted.value AND incarnation < ${before}`,
    all: `SELECT incarnation, true AS in_name FROM plants WHERE incarnation < ${before}`,
  };
  return `${lists[of]} ORDER BY ${of === 'category' ? newestOfCategoryFirst : newestFirst} LIMIT ${limit}`;
}

/** Whether lists have more than so many entries together. Reads no more of them, and mostly only the index. */
export async function haveMoreThan(tx: Transaction, lists: PlantLists, count: number): Promise<boolean> {
  const statement = statementOf(`length-of-${lists.of}`, () => `
    SELECT count(*)::integer AS entries FROM (
      SELECT FROM unnest($1::text[]) AS wanted (value) CROSS JOIN LATERAL (${newestOf(lists.of, '$2', '$3')}) AS entry LIMIT $3
    ) AS counted`);
  const [values] = driverValues(lists);
  const { entries } = onlyRow(await tx.query<{ entries: number }>(statement, [values, Number.MAX_SAFE_INTEGER, count + 1]));
  return entries > count;
}

const nameKey = `lower(plants.name) COLLATE "C"`;

// Parameters $1 to $9. A lower score is a better match: each word of the query adds twice the distance of its nearest term, and 1
// if that term is only in a tag or the category. Each candidate's plant is looked up, and its tags are read from it: for a join with
// the table or for EXISTS in plant_tags, Postgres may read all plants, or all that have one of the tags.
const matched = `
  matched AS MATERIALIZED (
    SELECT plants.incarnation, plants.bytes, plants.status, plants.category ->> 'name' AS category, ${nameKey} AS key,
      candidates.score + others.score AS score
    FROM candidates
    CROSS JOIN LATERAL (SELECT * FROM plants WHERE incarnation = candidates.incarnation LIMIT 1) AS plants
    CROSS JOIN LATERAL (
      SELECT count(*) AS words, coalesce(sum(best), 0)::integer AS score FROM (
        SELECT min(2 * other.distance + (NOT plant_words.in_name)::integer) AS best
        FROM unnest($1::text[], $2::integer[], $3::integer[]) AS other (word, distance, number)
        JOIN plant_words ON plant_words.word = other.word AND plant_words.incarnation = candidates.incarnation
        GROUP BY other.number
      ) AS word_of_query
    ) AS others
    WHERE others.words = $4
      AND ($5::text[] IS NULL OR plants.status = ANY($5))
      AND ($6::text IS NULL OR plants.category ->> 'name' = $6)
      AND ($7::jsonb[] IS NULL OR plants.tags @> ANY($7))
      AND ($8::text IS NULL OR plants.external_id = $8)
      AND ($9::jsonb IS NULL OR plants.metadata @> $9)
  )`;

/** The driver's own condition is not checked, since all candidates meet it. Metadata is: the driver is one of its pairs. */
const matchValues = ({ driver, others }: Pick<SearchPlan, 'driver' | 'others'>, { status, category, tags, externalId, metadata }: PlantConditions): unknown[] => {
  const terms = others.flatMap((alternatives, number) => alternatives.map((term) => ({ ...term, number })));
  return [
    terms.map(({ word }) => word),
    terms.map(({ distance }) => distance),
    terms.map(({ number }) => number),
    others.length,
    driver.of === 'status' ? null : (status ?? null),
    driver.of === 'category' ? null : (category ?? null),
    driver.of === 'tags' ? null : (tags?.map((name) => JSON.stringify([{ name }])) ?? null),
    driver.of === 'externalId' ? null : (externalId ?? null),
    metadata ? JSON.stringify(metadata) : null,
  ];
};

function windowValues({ driver, scan, candidates }: SearchPlan, { before, from }: Pick<SearchPosition, 'before' | 'from'>): unknown[] {
  return [...driverValues(driver), before, scan, from ?? 0, candidates];
}

function driverValues(driver: PlantLists): [string[], number[]] {
  if (driver.of === 'words') return [driver.terms.map(({ word }) => word), driver.terms.map(({ distance }) => distance)];
  const values = driver.of === 'all' ? [''] : [...new Set(driver.values)];
  return [values, values.map(() => 0)];
}

/** Parameters from $16. */
const orders = {
  newest: { by: 'incarnation DESC', after: 'incarnation < $16' },
  name: { by: 'key, incarnation', after: '(key, incarnation) > ($18 COLLATE "C", $16)' },
  relevance: { by: 'score, incarnation DESC', after: '(score, -incarnation) > ($18, -$16::bigint)' },
} as const;

const pageOf = (by: string, after: string, limit: string): string => `
  page AS (
    SELECT * FROM (
      SELECT incarnation, score, key, bytes, sum(bytes) OVER (ORDER BY ${by} ROWS UNBOUNDED PRECEDING) AS so_far
      FROM matched WHERE ${after}
    ) AS sized
    WHERE so_far - bytes <= ${readBytes} ORDER BY ${by} LIMIT ${limit} + 1
  ), found AS (
    SELECT ${columns}, page.score, page.key FROM page JOIN plants ON plants.incarnation = page.incarnation
  )`;

const statements = new Map<string, Statement>();

/** Returns the statement of a combination, built once. */
function statementOf(name: string, text: () => string): Statement {
  let known = statements.get(name);
  if (!known) {
    known = { name, text: text() };
    statements.set(name, known);
  }
  return known;
}

interface FoundPlant extends PlantState {
  readonly score: number;
  /** The sort key when sorting by name. */
  readonly key: string;
}

/** Matches in order, one more than the limit if there are so many. */
export interface Matches extends Stamped {
  readonly plants: readonly FoundPlant[];
  /** Plants older than this incarnation were not examined; 0: all were. */
  readonly horizon: number;
  /** The newest examined incarnation; 0: none was examined. */
  readonly newest: number;
}

/** Returns the matches of a window in the given order: from `after.from` to below `after.before`, but not more than the plan reads. */
export async function findMatches(
  tx: Transaction,
  plan: SearchPlan,
  conditions: PlantConditions,
  order: PlantSort,
  { after, limit }: { readonly after: SearchPosition; readonly limit: number },
): Promise<Matches> {
  const { by, after: condition } = orders[order];
  const statement = statementOf(`search-${plan.driver.of}-${order}`, () => `
    WITH ${candidatesFrom(plan.driver.of)}, ${matched}, ${pageOf(by, condition, '$17')}
    SELECT whole.stamp, horizon.at AS horizon, horizon.newest, found.* FROM (${stampOfAll}) AS whole CROSS JOIN horizon LEFT JOIN found ON true
    ORDER BY ${by}`);
  const more = { newest: [], relevance: [after.score], name: [after.key] }[order];
  const values = [...matchValues(plan, conditions), ...windowValues(plan, after), after.incarnation, limit, ...more];
  const rows = await tx.query<Found & Pick<Matches, 'horizon' | 'newest'>>(statement, values);
  const { stamp = '', horizon = 0, newest = 0 } = rows[0] ?? {};
  return { stamp, horizon, newest, plants: foundIn(rows) };
}

type Found = (FoundPlant | { readonly id: null }) & Stamped;

const foundIn = (rows: readonly Found[]): FoundPlant[] => rows.filter((row): row is FoundPlant & Stamped => row.id !== null);

/** Matches by name, and how far the catalogue was examined. */
export interface NamedMatches extends Stamped {
  readonly plants: readonly FoundPlant[];
  /** The last plant examined; undefined: the end was reached. */
  readonly last: Pick<SearchPosition, 'key' | 'incarnation'> | undefined;
}

/** Examines the next `scan` plants of the catalogue by name and returns the matches. */
export async function findMatchesByName(
  tx: Transaction,
  plan: SearchPlan,
  conditions: PlantConditions,
  { after, limit }: { readonly after: SearchPosition; readonly limit: number },
): Promise<NamedMatches> {
  const statement = statementOf('search-by-name', () => `
    WITH candidates AS MATERIALIZED (
      SELECT incarnation, ${nameKey} AS key, 0 AS score FROM plants WHERE (${nameKey}, incarnation) > ($10 COLLATE "C", $11)
      ORDER BY ${nameKey}, incarnation LIMIT $12
    ), last AS (
      SELECT key, incarnation FROM candidates WHERE (SELECT count(*) FROM candidates) = $12 ORDER BY key DESC, incarnation DESC LIMIT 1
    ), ${matched}, ${pageOf('key, incarnation', 'true', '$13')}
    SELECT whole.stamp, last.key AS "lastKey", last.incarnation AS "lastIncarnation", found.*
    FROM (${stampOfAll}) AS whole LEFT JOIN last ON true LEFT JOIN found ON true ORDER BY found.key, found.incarnation`);
  const rows = await tx.query<Found & { readonly lastKey: string | null; readonly lastIncarnation: number }>(statement, [
    ...matchValues(plan, conditions),
    after.key,
    after.incarnation,
    plan.scan,
    limit,
  ]);
  const [first] = rows;
  const last = typeof first?.lastKey === 'string' ? { key: first.lastKey, incarnation: first.lastIncarnation } : undefined;
  return { stamp: first?.stamp ?? '', last, plants: foundIn(rows) };
}

export interface Facets extends Stamped, Omit<PlantFacets, 'complete'> {
  readonly horizon: number;
}

const counted = (from: string, value: string): string => `(
  SELECT coalesce(jsonb_agg(jsonb_build_object('value', value, 'plants', plants)), '[]')
  FROM (SELECT ${value} AS value, count(*) AS plants FROM ${from} WHERE ${value} IS NOT NULL
    GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${maxFacetValues}) AS each)`;

/** Counts facets of the matches among the newest plants that the plan scans. */
export async function countFacets(tx: Transaction, plan: SearchPlan, conditions: PlantConditions): Promise<Facets> {
  const statement = statementOf(`facets-${plan.driver.of}`, () => `
    WITH ${candidatesFrom(plan.driver.of)}, ${matched}
    SELECT whole.stamp, horizon.at AS horizon, (SELECT count(*) FROM matched)::integer AS plants,
      ${counted('matched', 'status')} AS status,
      ${counted('matched JOIN plant_tags USING (incarnation)', 'plant_tags.name')} AS tags,
      ${counted('matched', 'category')} AS category
    FROM (${stampOfAll}) AS whole CROSS JOIN horizon`);
  const values = [...matchValues(plan, conditions), ...windowValues(plan, firstPosition('newest'))];
  return onlyRow(await tx.query<Facets>(statement, values));
}
