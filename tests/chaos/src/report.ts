import type { Violation } from './checks/violation.js';

/** One row of the table that a run prints. */
export interface Row {
  readonly goal: string;
  readonly what: string;
  readonly tried: string;
  readonly violations: readonly Violation[];
  /** In milliseconds; undefined if nothing was down. */
  readonly recoveryMs?: number | undefined;
}

const examplesPerRule = 3;

export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ goal, what, tried, violations, recoveryMs }) => [
    goal, what, tried, String(violations.length), recoveryMs === undefined ? '' : `${(recoveryMs / 1_000).toFixed(1)} s`,
  ]);
  const all = [['goal', 'what', 'tried', 'wrong', 'longest recovery'], ...lines];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  return all.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ').trimEnd()).join('\n');
}

/** Lists violations by rule with three examples each: the first, the last and one between, which often differ in time. */
export function describeViolations(violations: readonly Violation[]): string {
  const byRule = Map.groupBy(violations, ({ rule }) => rule);
  return [...byRule]
    .flatMap(([rule, same]) => [
      `  ${rule}: ${same.length}`,
      ...spread(same, examplesPerRule).map(({ what }) => `    ${what}`),
    ])
    .join('\n');
}

/** Picks `count` values at even distances, from the first to the last. */
function spread<T>(all: readonly T[], count: number): readonly T[] {
  if (all.length <= count) return all;
  return Array.from({ length: count }, (_, n) => all[Math.floor((n * (all.length - 1)) / (count - 1))] as T);
}
