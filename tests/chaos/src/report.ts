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

/** What is wrong, by rule, a few of each. */
export function describeViolations(violations: readonly Violation[]): string {
  const byRule = Map.groupBy(violations, ({ rule }) => rule);
  return [...byRule]
    .flatMap(([rule, same]) => [
      `  ${rule}: ${same.length}`,
      ...same.slice(0, shownOfEach).map(({ what }) => `    ${what}`),
    ])
    .join('\n');
}
