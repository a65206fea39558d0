import type { PlantState } from '../plants/plant.js';

/** What the store has still to be told about one plant (table `stock_intents`). */
export interface StockIntent {
  readonly incarnation: number;
  /** openStock is not acknowledged yet. */
  readonly opens: boolean;
  /** What openStock carries; null: the store's initial stock. */
  readonly units: number | null;
  /** The version whose status listStock has still to carry. */
  readonly listsVersion: number | null;
  /** The latest attempt to retire the plant's stock; set while the plant is being deleted. */
  readonly retireAttempt: number | null;
}

/** An intent together with the plant's present state, which is what the store is told. */
export type PendingPlant = Pick<PlantState, 'id' | 'incarnation' | 'version' | 'status'> & StockIntent;

/** Whether stock has to be opened or listed; retiring is the business of who deletes. */
export const hasToTell = ({ opens, listsVersion }: Pick<StockIntent, 'opens' | 'listsVersion'>): boolean =>
  opens || listsVersion !== null;

/**
 * What is left to tell once the store has acknowledged the opening and the status of `version`. A status that was written
 * meanwhile stays to be told, and so does a deletion.
 */
export function acknowledged(intent: StockIntent, version: number): StockIntent | undefined {
  const { listsVersion, retireAttempt } = intent;
  const stillLists = listsVersion !== null && listsVersion > version;
  if (!stillLists && retireAttempt === null) return undefined;
  return { ...intent, opens: false, listsVersion: stillLists ? listsVersion : null };
}

/**
 * What is left once the store has answered an attempt to retire with open orders. A later attempt that is under way decides
 * for itself: it may find those orders closed, and its deletion must not be forgotten then.
 */
export function refused(intent: StockIntent, attempt: number): StockIntent | undefined {
  if (intent.retireAttempt !== attempt) return intent;
  return hasToTell(intent) ? { ...intent, retireAttempt: null } : undefined;
}
