import { Injectable } from '@nestjs/common';
import type { GetPlantFacets, Plant, PlantFacets, SearchPlants } from '@plant-shop/contracts/catalog';
import { invalidInput } from '@plant-shop/platform/errors';
import { Cursors, fitToPage, maxLimit } from '@plant-shop/platform/paging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { Page } from '@plant-shop/platform/rpc/answer';
import { toPlant } from '../plants/plant.js';
import { checkAll, type MeasuredLists, planSearch, type SearchPlan, type WordLists } from './search-plan.js';
import { behind, isPosition, type SearchPlace, start, toPlace, toPosition } from './search-place.js';
import {
  countFacets,
  findCompletions,
  findMatches,
  findMatchesByName,
  findSimilarTerms,
  type FoundPlant,
  type FoundTerm,
  measureLists,
} from './search.repository.js';

/** More words hardly narrow a search, and each costs a look-up for every candidate. */
const maxWords = 8;

@Injectable()
export class SearchService {
  constructor(private readonly database: Database) {}

  /**
   * One page of the plants that match. It ends after a bounded amount of work, so it may be short, or empty, while there is
   * a next one.
   */
  search({ limit = maxLimit, cursor, sort, ...filter }: SearchPlants): Promise<Page<Plant>> {
    const order = sort ?? (filter.q === undefined ? 'newest' : 'relevance');
    const cursors = new Cursors('plant search', [`sort ${order}`, ...fingerprintOf(filter)]);
    const place = cursor === undefined ? start(order) : toPlace(cursors.positionIn(cursor, isPosition));
    const pageOf = (plants: readonly FoundPlant[], newest: number, rest: SearchPlace | undefined, stamp: string): Page<Plant> => {
      const entries = fitToPage(plants, limit, toPlant);
      const last = entries.length < plants.length ? plants[entries.length - 1] : undefined;
      const next = last ? behind(order, place, last, newest) : rest;
      return new Page(entries, next && cursors.cursorOf(toPosition(next)), stamp);
    };
    return this.inOneSnapshot(async (tx) => {
      const plan = await planFor(tx, filter);
      if (!plan) return new Page<Plant>([]);
      const bounds = { after: place, limit };
      const { stamp, plants, horizon, newest } = await findMatches(tx, plan, filter, order, bounds);
      if (horizon === 0) return pageOf(plants, newest, undefined, stamp);
      if (order !== 'name') return pageOf(plants, newest, start(order, horizon), stamp);
      // More plants than one page can sort: the catalogue is read in the order of names instead.
      const named = await findMatchesByName(tx, checkAll(plan), filter, bounds);
      return pageOf(named.plants, newest, named.last && { ...place, ...named.last }, named.stamp);
    });
  }

  /** Counts of the plants that match; where more match than are looked at, of the newest. */
  facets(filter: GetPlantFacets): Promise<PlantFacets> {
    return this.inOneSnapshot(async (tx) => {
      const plan = await planFor(tx, filter);
      if (!plan) return { plants: 0, complete: true, status: [], tags: [], category: [] };
      const { plants, horizon, status, tags, category } = await countFacets(tx, plan, filter);
      return { plants, complete: horizon === 0, status, tags, category };
    });
  }

  /** Several statements that see the same catalogue: an answer must be exact for the stamp that it is cached under. */
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

/** @returns undefined where a word of the query is like no word of any plant */
async function planFor(tx: Transaction, { q, status, tags, category }: GetPlantFacets): Promise<SearchPlan | undefined> {
  const conditions: MeasuredLists[] = [];
  if (q !== undefined) conditions.push(...(await wordsOf(tx, q)));
  if (tags) conditions.push({ lists: { of: 'tags', values: tags }, lengths: await measureLists(tx, 'tags', tags) });
  if (category !== undefined) {
    conditions.push({ lists: { of: 'category', values: [category] }, lengths: await measureLists(tx, 'category', [category]) });
  }
  // No letter or digit at all is like no word either.
  const isHopeless = q !== undefined && !conditions.some(({ lists }) => lists.of === 'words');
  if (isHopeless || conditions.some(({ lengths }) => lengths.length === 0)) return undefined;
  return planSearch(conditions, status ? { of: 'status', values: status } : { of: 'all' });
}

/** For each word of a query the words of plants that it stands for: those that are it or begin with it, else those that look like it. */
async function wordsOf(tx: Transaction, q: string): Promise<(MeasuredLists & { readonly lists: WordLists })[]> {
  const completed = await findCompletions(tx, q, maxWords + 1);
  if (completed.some(({ number }) => number > maxWords)) throw invalidInput([{ pointer: '/q', detail: `must have at most ${maxWords} words` }]);
  const unknown = completed.filter(({ word, hasTrigrams }) => word === null && hasTrigrams);
  const similar = unknown.length === 0 ? [] : await findSimilarTerms(tx, unknown);
  const numbers = [...new Set(completed.map(({ number }) => number))];
  return numbers.map((number) => {
    const found = [...completed, ...similar].filter((one): one is FoundTerm & { word: string } => one.number === number && one.word !== null);
    return { lists: { of: 'words', terms: found.map(({ word, distance }) => ({ word, distance })) }, lengths: found };
  });
}

const fingerprintOf = ({ q, status = [], tags = [], category }: GetPlantFacets): string[] => [
  ...(q === undefined ? [] : [`q ${q}`]),
  ...status.map((one) => `status ${one}`),
  ...tags.map((one) => `tag ${one}`),
  ...(category === undefined ? [] : [`category ${category}`]),
];
