/** A word that stands for a word of the query, and how far it is from it: 0 the same, 1 begins with it, 2 looks like it. */
export interface Term {
  readonly word: string;
  readonly distance: number;
}

/** How long a list of plants is: `plants` of its newest were counted, at most `countedPlants`, down to `oldest`. */
export interface ListLength {
  readonly plants: number;
  readonly oldest: number | null;
}

/** The most entries of a list that are counted to tell how long it is. */
export const countedPlants = 128;

/** Plants that have any of some values, each value with an index of its own in the order of creation. */
export type PlantLists =
  | WordLists
  | { readonly of: 'tags' | 'category' | 'status'; readonly values: readonly string[] }
  | { readonly of: 'all' };

export interface WordLists {
  readonly of: 'words';
  readonly terms: readonly Term[];
}

/** Conditions that all must hold, one of which is read from its index. */
export interface SearchPlan {
  /** Read newest first; every plant that matches is in these lists. */
  readonly driver: PlantLists;
  /** The terms of the query's other words, each list an alternative. */
  readonly others: readonly (readonly Term[])[];
  /** Entries of each list that one page reads. */
  readonly scan: number;
}

/** A condition with an index, and how long its lists are. */
export interface MeasuredLists {
  readonly lists: PlantLists;
  readonly lengths: readonly ListLength[];
}

const maxScan = 1_000;
const minScan = 15;
/** Index entries that a page may look at, roughly. */
const work = 4_000;

/**
 * Reads the condition that the fewest plants meet and checks the others plant by plant.
 * @param conditions those with an index; `fallback` is read where there are none
 */
export function planSearch(conditions: readonly MeasuredLists[], fallback: PlantLists): SearchPlan {
  const newest = Math.max(1, ...conditions.flatMap(({ lengths }) => lengths.map(({ oldest }) => oldest ?? 0)));
  const [first] = [...conditions].sort((a, b) => estimated(a.lengths, newest) - estimated(b.lengths, newest));
  const driver = first?.lists ?? fallback;
  const others = conditions.flatMap(({ lists }) => (lists.of === 'words' && lists !== driver ? [lists.terms] : []));
  return { driver, others, scan: scanOf(others, listsOf(driver)) };
}

/** The same search with nothing read from an index of its own: every word is checked plant by plant. */
export function checkAll({ driver, others }: SearchPlan): SearchPlan {
  const all = driver.of === 'words' ? [...others, driver.terms] : others;
  return { driver: { of: 'all' }, others: all, scan: scanOf(all, 1) };
}

/** Each candidate costs a look-up for each term that it is checked for. */
function scanOf(others: readonly (readonly Term[])[], listsRead: number): number {
  const checks = Math.max(1, others.reduce((sum, terms) => sum + terms.length, 0));
  return Math.min(maxScan, Math.max(minScan, Math.floor(work / checks / listsRead)));
}

function listsOf(lists: PlantLists): number {
  if (lists.of === 'all') return 1;
  return Math.max(1, lists.of === 'words' ? lists.terms.length : lists.values.length);
}

/** From how densely a list's newest entries lie among all incarnations; `newest` need only be the same for all. */
const estimated = (lengths: readonly ListLength[], newest: number): number =>
  lengths.reduce((sum, { plants, oldest }) => {
    if (plants < countedPlants || oldest === null) return sum + plants;
    return sum + (plants * newest) / Math.max(1, newest - oldest);
  }, 0);
