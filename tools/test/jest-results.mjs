import { NOTHING } from './results.mjs';

/** The variable that names the output file of jest-reporter.mjs. */
export const RESULTS_FILE = 'JEST_RESULTS_FILE';

/**
 * A line of jest-reporter.mjs.
 * @typedef {{ files: number } | { begun: string } | { in: string, test: string, status: string }
 *   | { over: string, passed: number, failed: number, skipped: number, ms: number } | { end: true }} Line
 */

/**
 * @typedef {object} JestResults
 * @property {number} files number of files to run
 * @property {boolean} ended false when Jest was killed or crashed
 * @property {Map<string, FileResult>} begun files that were started, by name
 * @typedef {import('./results.mjs').Tally & { over: boolean, ms: number }} FileResult
 */

/** @param {string} text output of jest-reporter.mjs; an incomplete last line is ignored @returns {JestResults} */
export function readResults(text) {
  /** @type {JestResults} */
  const results = { files: 0, ended: false, begun: new Map() };
  const whole = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  for (const line of whole) if (line !== '') add(results, JSON.parse(line));
  return results;
}

/** @param {JestResults} results @param {Line} line */
function add(results, line) {
  if ('files' in line) results.files = line.files;
  else if ('end' in line) results.ended = true;
  else if ('over' in line) {
    const { over, ...result } = line;
    const named = results.begun.get(over)?.failures ?? [];
    const failures = named.length === 0 && result.failed > 0 ? [`${over} could not be loaded`] : named;
    results.begun.set(over, { ...NOTHING, ...result, failures, over: true });
  } else if ('begun' in line) results.begun.set(line.begun, { ...NOTHING, over: false, ms: 0 });
  else {
    const file = results.begun.get(line.in) ?? { ...NOTHING, over: false, ms: 0 };
    file[line.status === 'passed' ? 'passed' : line.status === 'failed' ? 'failed' : 'skipped']++;
    const failures = line.status === 'failed' ? [...file.failures, `${line.in}: ${line.test}`] : file.failures;
    results.begun.set(line.in, { ...file, failures });
  }
}

/**
 * Describes the files that were running when Jest ended early, and those with failures. Returns no lines if Jest finished.
 * @param {JestResults} results @returns {string[]} lines to print
 */
export function whatWasCut({ files, ended, begun }) {
  if (ended) return [];
  const all = [...begun];
  const over = all.filter(([, file]) => file.over);
  const counts = (/** @type {FileResult} */ { passed, failed }) => `${passed} passed, ${failed} failed`;
  return [
    `Jest ended early: ${over.length} of ${files} files had finished, ${all.length - over.length} were running, ${files - all.length} had not started.`,
    ...all.filter(([, file]) => !file.over).map(([name, file]) => `  running: ${name} (${counts(file)} so far)`),
    ...over.filter(([, file]) => file.failed > 0).map(([name, file]) => `  failed: ${name} (${counts(file)})`),
  ];
}

/** Returns the files with failures. @param {JestResults} results @returns {readonly string[]} */
export const failedFiles = ({ begun }) => [...begun].filter(([, { failed }]) => failed > 0).map(([name]) => name);
