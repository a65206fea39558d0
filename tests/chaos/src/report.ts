import type { Violation } from './checks/violation.js';

/** One line of the table. */
export interface Row {
  readonly goal: string;
  readonly what: string;
  readonly tried: string;
  readonly violations: readonly Violation[];
  /** In milliseconds; undefined where nothing was away. */
  readonly recoveryMs?: number | undefined;
}

const shownOfEach = 3;

export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ goal, what, tried, violations, recoveryMs }) => [
    goal, what, tried, String(violations.length), recoveryMs === undefined ? '' : `${(recoveryMs / 1_000).toFixed(1)} s`,
  ]);
  const all = [['goal', 'what', 'tried', 'wrong', 'longest recovery'], ...lines];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  return all.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ').trimEnd()).join('\n');
}

/** What is wrong, by rule, a few of each: the first, the last, and one from between, which are often of different moments. */
export function describeViolations(violations: readonly Violation[]): string {
  const byRule = Map.groupBy(violations, ({ rule }) => rule);
  return [...byRule]
    .flatMap(([rule, same]) => [
      `  ${rule}: ${same.length}`,
      ...spread(same, shownOfEach).map(({ what }) => `    ${what}`),
    ])
    .join('\n');
}

/** So many of all at even distances, from the first to the last. */
function spread<T>(all: readonly T[], count: number): readonly T[] {
  if (all.length <= count) return all;
  return Array.from({ length: count }, (_, n) => all[Math.floor((n * (all.length - 1)) / (count - 1))] as T);
}
