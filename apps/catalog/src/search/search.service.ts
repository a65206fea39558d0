import { Controller, Injectable } from '@nestjs/common';
import {
  catalog,
  type GetPlantFacets,
  type Plant,
  type PlantFacets,
  type PlantSort,
  type SearchPlants,
} from '@plant-shop/contracts/catalog';
import { Cursors, fitToPage, maxLimit } from '@plant-shop/platform/patterns/paging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { Page } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { pairsOf, toPlant } from '../plants/plant.js';
import {
  checkAll,
  fewCandidates,
  forNewest,
  maxCandidates,
  type MeasuredLists,
  planSearch,
  type SearchPlan,
  type WordLists,
} from './search-plan.js';
import { decodePosition, encodePosition, firstPosition, isEncodedPosition, positionAfter, type SearchPosition } from './search-position.js';
import {
  countFacets,
  findCompletions,
  findMatches,
  findMatchesByName,
  findSimilarTerms,
  type FoundTerm,
  haveMoreThan,
  type Matches,
  type MeasurableLists,
  measureLists,
  type PlantConditions,
} from './search.repository.js';
import { wordsOfQuery } from '../words.js';

/** Further words of a query are ignored: they hardly narrow a search, and each costs one look-up per candidate. */
const maxWords = 8;

@Injectable()
export class SearchService {
  constructor(private readonly database: Database) {}

  /** Returns one page of matches. The work per page is bounded, so a page may be short, or even empty, although there is a next one. */
  search({ limit = maxLimit, cursor, sort, ...filter }: SearchPlants): Promise<Page<Plant>> {
    const order = sort ?? (filter.q === undefined ? 'newest' : 'relevance');
    const cursors = new Cursors('plant search', [`sort ${order}`, ...fingerprintOf(filter)]);
    const place = cursor === undefined ? firstPosition(order) : decodePosition(cursors.positionIn(cursor, isEncodedPosition));
    const pageOf = ({ plants, stamp, ...window }: Matches, rest: SearchPosition | undefined): Page<Plant> => {
      const entries = fitToPage(plants, limit, toPlant);
      const last = entries.length < plants.length ? plants[entries.length - 1] : undefined;
      const next = last ? positionAfter(order, place, last, window) : rest;
      return new Page(entries, next && cursors.cursorOf(encodePosition(next)), stamp);
    };
    return this.inOneSnapshot(async (tx) => {
      const plan = await planFor(tx, filter);
      if (!plan) return new Page<Plant>([]);
      const bounds = { after: place, limit };
      const matches = await findPage(tx, plan, filter, order, bounds);
      if (matches.horizon === 0) return pageOf(matches, undefined);
      if (order !== 'name') return pageOf(matches, firstPosition(order, matches.horizon));
      // There are more candidates than one page can sort, so read the catalogue in the order of names instead.
      const named = await findMatchesByName(tx, checkAll(plan), filter, bounds);
      return pageOf({ ...matches, ...named }, named.last && { ...place, ...named.last });
    });
  }

  /** Counts the matches by facet. If more plants are to be examined than a page may, examines a few, the newest; `complete` is false then. */
  facets(filter: GetPlantFacets): Promise<PlantFacets> {
    return this.inOneSnapshot(async (tx) => {
      const plan = await planFor(tx, filter);
      if (!plan) return { plants: 0, complete: true, status: [], tags: [], category: [] };
      // A sample costs an eighth of the maximum, and neither would be complete.
      const counted = (await haveMoreThan(tx, plan.driver, maxCandidates)) ? forNewest(plan, fewCandidates) : plan;
      const { plants, horizon, status, tags, category } = await countFacets(tx, counted, filter);
      return { plants, complete: horizon === 0, status, tags, category };
    });
  }

  /** Runs several statements on one snapshot: an answer must match the catalogue version under which it is cached. */
  private inOneSnapshot<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.database.transaction(
      (tx) => {
        tx.send('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
        return work(tx);
      },
      { useGenericPlans: true },
    );
  }
}

/** Reads the first few candidates, which mostly fill the page, and otherwise all that the plan allows. By name, all are needed. */
async function findPage(
  tx: Transaction,
  plan: SearchPlan,
  filter: PlantConditions,
  order: PlantSort,
  bounds: { readonly after: SearchPosition; readonly limit: number },
): Promise<Matches> {
  // By relevance, a short page shows the best plants of a longer list.
  const first = order === 'relevance' ? Math.max(fewCandidates, 2 * bounds.limit) : 4 * bounds.limit;
  if (order !== 'name' && bounds.after.from === undefined && first < plan.candidates) {
    const matches = await findMatches(tx, forNewest(plan, first), filter, order, bounds);
    if (matches.horizon === 0 || matches.plants.length > bounds.limit) return matches;
  }
  return findMatches(tx, plan, filter, order, bounds);
}

/** Plans the search. @returns undefined if a word of the query matches no word of any plant */
async function planFor(tx: Transaction, { q, status, tags, category, externalId, metadata }: GetPlantFacets): Promise<SearchPlan | undefined> {
  const conditions: MeasuredLists[] = q === undefined ? [] : await wordsOf(tx, q);
  const asked: readonly MeasurableLists[] = [
    ...(tags ? [{ of: 'tags', values: tags } as const] : []),
    ...(category === undefined ? [] : [{ of: 'category', values: [category] } as const]),
    ...(externalId === undefined ? [] : [{ of: 'externalId', values: [externalId] } as const]),
    ...pairsOf(metadata).map((pair) => ({ of: 'metadata', values: [pair] }) as const),
  ];
  for (const lists of asked) conditions.push({ lists, lengths: await measureLists(tx, lists) });
  // A query without letters and digits has no words and matches nothing.
  const hasNoWord = q !== undefined && !conditions.some(({ lists }) => lists.of === 'words');
  if (hasNoWord || conditions.some(({ lengths }) => lengths.length === 0)) return undefined;
  return planSearch(conditions, status ? { of: 'status', values: status } : { of: 'all' });
}

/** Returns the matching indexed words of each word of the query: equal ones and completions, or else similar ones. */
async function wordsOf(tx: Transaction, q: string): Promise<(MeasuredLists & { readonly lists: WordLists })[]> {
  const completed = await findCompletions(tx, wordsOfQuery(q).slice(0, maxWords));
  const unknown = completed.filter(({ word, hasTrigrams }) => word === null && hasTrigrams);
  const similar = unknown.length === 0 ? [] : await findSimilarTerms(tx, unknown);
  const numbers = [...new Set(completed.map(({ number }) => number))];
  return numbers.map((number) => {
    const found = [...completed, ...similar].filter((one): one is FoundTerm & { word: string } => one.number === number && one.word !== null);
    return { lists: { of: 'words', terms: found.map(({ word, distance }) => ({ word, distance })) }, lengths: found };
  });
}

const fingerprintOf = ({ q, status = [], tags = [], category, externalId, metadata }: GetPlantFacets): string[] => [
  ...(q === undefined ? [] : [`q ${q}`]),
  ...status.map((one) => `status ${one}`),
  ...tags.map((one) => `tag ${one}`),
  ...(category === undefined ? [] : [`category ${category}`]),
  ...(externalId === undefined ? [] : [`externalId ${externalId}`]),
  ...pairsOf(metadata).map((pair) => `metadata ${pair}`),
];

@Controller()
export class SearchController {
  constructor(private readonly plants: SearchService) {}

  @Answers(catalog.searchPlants)
  searchPlants(search: SearchPlants): Promise<Page<Plant>> {
    return this.plants.search(search);
  }

  @Answers(catalog.getPlantFacets)
  getPlantFacets(filter: GetPlantFacets): Promise<PlantFacets> {
    return this.plants.facets(filter);
  }
}
