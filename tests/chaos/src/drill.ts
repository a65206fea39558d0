/** What a restore drill saw. */
export interface DrillFacts {
  /** Orders whose payment was acknowledged before the time to which the store was restored. */
  readonly kept: ReadonlySet<number>;
  /** Orders whose payment was acknowledged after it. */
  readonly gone: ReadonlySet<number>;
  /** Paid orders in the restored database. */
  readonly restored: ReadonlySet<number>;
  /** Units of the plant that was sold, in the restored database; `paid` and `open`: of orders. */
  readonly stock: { readonly supplied: number; readonly free: number; readonly reserved: number; readonly sold: number; readonly paid: number; readonly open: number };
  /** What `npm run reconcile` found, as `drift id`, and in its last run, which repairs what the first one reported. */
  readonly findings: readonly string[];
  readonly findingsAfterRepair: readonly string[];
  /** What changed elsewhere after that time, in the same form. */
  readonly expectedFindings: readonly string[];
  /** Orders that were paid after the restore, and those of them whose events a stream client got. */
  readonly sold: ReadonlySet<number>;
  readonly followed: ReadonlySet<number>;
  /** Requests that failed after the restore. */
  readonly failures: readonly string[];
  /** Reasons of the gaps that a stream client was told of, and how often it was disconnected. */
  readonly gaps: readonly string[];
  readonly disconnections: number;
}

const without = <T>(all: Iterable<T>, others: ReadonlySet<T>): T[] => [...all].filter((one) => !others.has(one));

/** Returns what a restore to a point in time does not explain, in a line each. */
export function unexplained(facts: DrillFacts): string[] {
  const { kept, gone, restored, stock, sold, followed, findings, findingsAfterRepair, expectedFindings } = facts;
  const lines: string[] = [];
  const check = (all: readonly unknown[], what: string): void => {
    if (all.length > 0) lines.push(`${all.length} ${what}: ${all.slice(0, 5).join(', ')}`);
  };
  check(without(kept, restored), 'orders of before that time are missing');
  check(without(restored, kept), [...gone].some((id) => restored.has(id)) ? 'orders of after that time exist' : 'paid orders were never acknowledged');
  const units = stock.free + stock.reserved + stock.sold;
  if (units !== stock.supplied) lines.push(`there are ${units} of ${stock.supplied} units`);
  if (stock.sold !== stock.paid || stock.reserved !== stock.open) lines.push(`${stock.sold} units are sold and ${stock.reserved} reserved, but orders hold ${stock.paid} and ${stock.open}`);
  check(without(findings, new Set(expectedFindings)), 'findings of reconcile have no cause');
  check(without(expectedFindings, new Set(findings)), 'changes were not found by reconcile');
  check(findingsAfterRepair, 'findings are left after the repair');
  check(without(sold, followed), 'events of orders after the restore did not arrive');
  check(facts.failures, 'requests failed after the restore');
  if (facts.gaps.length > 1) lines.push(`the stream told of ${facts.gaps.length} gaps: ${facts.gaps.join(', ')}`);
  if (facts.disconnections > 0) lines.push(`the stream disconnected its client ${facts.disconnections} times`);
  return lines;
}
