/** @param {readonly import('./bench.mjs').Row[]} rows */
export function tableOf(rows) {
  const lines = rows.map((row) => [row.goal, row.what, wantedOf(row), figure(row.ratio), isReached(row) ? 'reached' : 'MISSED']);
  const all = [['goal', 'what', 'wanted', 'measured', 'verdict'], ...lines];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((line) => /** @type {string} */ (line[column]).length)));
  return all.map((line) => line.map((cell, column) => cell.padEnd(/** @type {number} */ (widths[column]))).join('  ').trimEnd()).join('\n');
}

/** @param {import('./bench.mjs').Row} row */
export const isReached = ({ wanted, ratio, atMost }) => (atMost ? ratio <= wanted : ratio >= wanted);

/** @param {import('./bench.mjs').Row} row */
const wantedOf = ({ wanted, atMost }) => `${atMost ? '≤' : '≥'} ${figure(wanted)}`;

/** @param {number} value */
const figure = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value < 0.1 ? value.toFixed(4) : value.toFixed(2));
