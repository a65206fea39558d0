import { isTransient } from '../errors.js';
import type { Logger } from '../logging.js';

/** One page of two services' data, compared. */
export interface ComparedPage<Drift, Key> {
  /** How many resources were compared. */
  readonly checked: number;
  readonly drifts: readonly Drift[];
  /** The key up to which both sides were read; undefined: to the end. */
  readonly end: Key | undefined;
}

/** What was done about a difference: `unfinished` if a service was unavailable; `left` is for the operator. */
interface Repaired {
  readonly outcome: 'found' | 'mended' | 'left' | 'unfinished';
}

interface Reconciliation<Drift, Key, Named, Result extends Repaired> {
  /** Reads the page from both sides and compares them. */
  readonly compare: () => Promise<ComparedPage<Drift, Key>>;
  /** What a finding and the log say about a difference. */
  readonly describe: (drift: Drift) => Named;
  /** @returns undefined if nothing differs any more, or an intent will complete it */
  readonly repair: (drift: Drift) => Promise<Result | undefined>;
  /** Only reports. */
  readonly dryRun: boolean;
  readonly logger: Logger;
}

/**
 * Repairs the differences between two services' data on one page. Compares twice: a resource that is created or deleted between reading
 * the two sides differs once, but not twice.
 */
export async function reconcilePage<Drift, Key extends string | number, Named extends object, Result extends Repaired>(
  reconciliation: Reconciliation<Drift, Key, Named, Result>,
): Promise<{ checked: number; next?: Key; findings: (Named & (Result | Repaired))[] }> {
  const { compare, describe, dryRun, logger } = reconciliation;
  const first = await compare();
  const second = first.drifts.length === 0 ? first : await compare();
  const findings: (Named & (Result | Repaired))[] = [];
  for (const drift of inBoth(first.drifts, second.drifts)) {
    const result = dryRun ? ({ outcome: 'found' } as const) : await repairOrLeave(reconciliation, drift);
    if (!result) continue;
    const finding = { ...describe(drift), ...result };
    findings.push(finding);
    logger.info<object>(finding, 'drift between services');
  }
  const [end, other = end] = [first.end, second.end].filter((one) => one !== undefined);
  return { checked: second.checked, ...(end !== undefined && other !== undefined && { next: end < other ? end : other }), findings };
}

async function repairOrLeave<Drift, Key, Named, Result extends Repaired>(
  { repair, describe, logger }: Reconciliation<Drift, Key, Named, Result>,
  drift: Drift,
): Promise<Result | Repaired | undefined> {
  try {
    return await repair(drift);
  } catch (error) {
    if (!isTransient(error)) throw error;
    logger.warn<object>({ err: error, ...describe(drift) }, 'drift not mended yet');
    return { outcome: 'unfinished' };
  }
}

/** Returns the differences that are in both lists, equal in every member. */
function inBoth<Drift>(first: readonly Drift[], second: readonly Drift[]): Drift[] {
  const known = new Set(first.map((one) => JSON.stringify(one)));
  return second.filter((one) => known.has(JSON.stringify(one)));
}
