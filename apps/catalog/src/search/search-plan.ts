/** An indexed word that matches a word of the query. Distance: 0 equal, 1 begins with it, 2 similar. */
interface Term {
  readonly word: string;
  readonly distance: number;
}

/** The measured length of a list of plants: `plants` of its newest entries were counted, at most `countedPlants`, down to `oldest`. */
export interface ListLength {
  readonly plants: number;
  readonly oldest: number | null;
}

/** The most entries of a list that are counted to estimate its length. */
export const countedPlants = 128;

/** Plants that have any of some values. An index lists the plants of each value in order of creation. */
export type PlantLists =
  | WordLists
  | { readonly of: 'tags' | 'category' | 'status' | 'metadata' | 'externalId'; readonly values: readonly string[] }
  | { readonly of: 'all' };

export interface WordLists {
  readonly of: 'words';
  readonly terms: readonly Term[];
}

/** How a search is executed: one condition is read from its index, the others are checked plant by plant. */
export interface SearchPlan {
  /** The condition that is read from its index, newest first. Every match is in these lists. */
  readonly driver: PlantLists;
  /** The terms of the query's other words: a plant must have one term of each list. */
  readonly others: readonly (readonly Term[])[];
  /** The number of entries that a page reads from each list. */
  readonly scan: number;
  /** The number of plants of these lists that a page checks, the newest. */
  readonly candidates: number;
}

/** A condition with an index, and the lengths of its lists. */
export interface MeasuredLists {
  readonly lists: PlantLists;
  readonly lengths: readonly ListLength[];
}

/** The most plants that a page checks. */
export const maxCandidates = 1_000;
/** The number of plants that are checked where that suffices: first by relevance, and for facets that cannot be complete. */
export const fewCandidates = 128;
const minScan = 15;
/** Approximate number of index entries that a page may read. */
const work = 4_000;

/**
 * Plans a search: reads one condition from its index and checks the others plant by plant. Reads the condition that makes it cheapest
 * to examine all plants that meet it: there are few of them, and few lists in which each must be looked up.
 * @param conditions the conditions that have an index
 * @param fallback read if there are no such conditions
 */
export function planSearch(conditions: readonly MeasuredLists[], fallback: PlantLists): SearchPlan {
  const newest = Math.max(1, ...conditions.flatMap(({ lengths }) => lengths.map(({ oldest }) => oldest ?? 0)));
  const listCount = conditions.reduce((sum, { lengths }) => sum + lengths.length, 0);
  const costOf = ({ lengths }: MeasuredLists): number => estimated(lengths, newest) * (1 + listCount - lengths.length);
  const [first] = [...conditions].sort((a, b) => costOf(a) - costOf(b));
  const driver = first?.lists ?? fallback;
  const others = conditions.flatMap(({ lists }) => (lists.of === 'words' && lists !== driver ? [lists.terms] : []));
  return { driver, others, scan: scanOf(others, listsOf(driver)), candidates: maxCandidates };
}

/** Returns the plan for at most so many candidates, the newest. */
export const forNewest = (plan: SearchPlan, candidates: number): SearchPlan => ({ ...plan, scan: Math.min(plan.scan, candidates), candidates });

/** Returns the plan that uses no condition's index: every word is checked plant by plant. */
export function checkAll({ driver, others, ...plan }: SearchPlan): SearchPlan {
  const all = driver.of === 'words' ? [...others, driver.terms] : others;
  return { ...plan, driver: { of: 'all' }, others: all, scan: scanOf(all, 1) };
}

/** Returns how many entries to read from each list, given that checking a candidate costs one look-up per term. */
function scanOf(others: readonly (readonly Term[])[], listsRead: number): number {
  const checks = Math.max(1, others.reduce((sum, terms) => sum + terms.length, 0));
  return Math.min(maxCandidates, Math.max(minScan, Math.floor(work / checks / listsRead)));
}

function listsOf(lists: PlantLists): number {
  if (lists.of === 'all') return 1;
  return Math.max(1, lists.of === 'words' ? lists.terms.length : lists.values.length);
}

/**
 * Estimates the total length of the lists by extrapolating the density of their newest entries. `newest` only has to be the same for
 * all lists that are compared.
 */
const estimated = (lengths: readonly ListLength[], newest: number): number =>
  lengths.reduce((sum, { plants, oldest }) => {
    if (plants < countedPlants || oldest === null) return sum + plants;
    return sum + (plants * newest) / Math.max(1, newest - oldest);
  }, 0);
