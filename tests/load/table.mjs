/** @typedef {import('./bench.mjs').Row} Row */

/** @param {readonly Row[]} rows */
export function tableOf(rows) {
  const lines = rows.map((row) => [row.goal, row.what, wantedOf(row), figure(row.ratio), verdictOf(row)]);
  const all = [['goal', 'what', 'wanted', 'measured', 'verdict'], ...lines];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((line) => /** @type {string} */ (line[column]).length)));
  return all.map((line) => line.map((cell, column) => cell.padEnd(/** @type {number} */ (widths[column]))).join('  ').trimEnd()).join('\n');
}

/** @param {readonly Row[]} rows @returns {0 | 1 | 2} the exit code: all goals hold; one is missed or its value impossible; some rows make no claim */
export function statusOf(rows) {
  const verdicts = rows.map(verdictOf);
  if (verdicts.some((one) => one === 'MISSED' || one === 'IMPOSSIBLE')) return 1;
  return verdicts.every((one) => one === 'reached') ? 0 : 2;
}

/** @param {Row} row */
function verdictOf({ wanted, ratio, atMost, possible: [least, most] = [Number.MIN_VALUE, Number.MAX_VALUE], noClaim }) {
  // Also if it is NaN.
  if (!(ratio >= least && ratio <= most)) return 'IMPOSSIBLE';
  if (noClaim !== undefined) return `no claim: ${noClaim}`;
  return (atMost ? ratio <= wanted : ratio >= wanted) ? 'reached' : 'MISSED';
}

/** @param {Row} row */
const wantedOf = ({ wanted, atMost }) => `${atMost ? '≤' : '≥'} ${figure(wanted)}`;

/** @param {number} value */
const figure = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : Math.abs(value) < 0.1 ? value.toFixed(4) : value.toFixed(2));
