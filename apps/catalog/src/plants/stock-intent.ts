import type { PlantState } from './plant.js';

/** The calls to the store that are pending for one plant (table `stock_intents`). */
export interface StockIntent {
  readonly incarnation: number;
  /** `openStock` is pending. */
  readonly opens: boolean;
  /** The units that `openStock` passes; null: the store's `INITIAL_STOCK`. */
  readonly units: number | null;
  /** The plant version whose status `listStock` has yet to pass; null: none. */
  readonly listsVersion: number | null;
  /** The latest attempt to retire the plant's stock; null unless the plant is being deleted. */
  readonly retireAttempt: number | null;
}

/** An intent with the plant's present state, which the calls pass to the store. */
export type PendingPlant = Pick<PlantState, 'id' | 'incarnation' | 'version' | 'status'> & StockIntent;

/** Returns whether `openStock` or `listStock` is pending. `retirePlant` is not considered: deletions call it separately. */
export const hasPendingCalls = ({ opens, listsVersion }: Pick<StockIntent, 'opens' | 'listsVersion'>): boolean =>
  opens || listsVersion !== null;

/**
 * Returns what remains of an intent once the store has acknowledged the opening and the status of `version`; undefined: nothing.
 * A later status and a deletion stay pending.
 */
export function afterAcknowledgement(intent: StockIntent, version: number): StockIntent | undefined {
  const { listsVersion, retireAttempt } = intent;
  const stillLists = listsVersion !== null && listsVersion > version;
  if (!stillLists && retireAttempt === null) return undefined;
  return { ...intent, opens: false, listsVersion: stillLists ? listsVersion : null };
}

/**
 * Returns what remains of an intent once the store has refused to retire the plant because of open orders; undefined: nothing.
 * A later attempt in progress stays pending: it may find those orders closed, and then its deletion must happen.
 */
export function afterRefusal(intent: StockIntent, attempt: number): StockIntent | undefined {
  if (intent.retireAttempt !== attempt) return intent;
  return hasPendingCalls(intent) ? { ...intent, retireAttempt: null } : undefined;
}
