import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { ROOT } from '../start/toolchain.mjs';
import { RESULTS_FILE } from './jest-results.mjs';

/**
 * The members used of Jest's result of a file.
 * @typedef {object} FileResult
 * @property {number} numPassingTests
 * @property {number} numFailingTests
 * @property {number} numPendingTests
 * @property {number} numTodoTests
 * @property {object} [testExecError]
 * @property {{ start: number, end: number }} perfStats
 */

/**
 * Appends each result to the file named by `RESULTS_FILE`, one JSON object per line, as soon as Jest has it. Jest writes its own
 * `--json` only at the end, so a killed run would leave nothing.
 */
export default class ResultsReporter {
  onRunStart(/** @type {{ numTotalTestSuites: number }} */ { numTotalTestSuites }) {
    append({ files: numTotalTestSuites });
  }

  onTestFileStart(/** @type {{ path: string }} */ { path }) {
    append({ begun: nameOf(path) });
  }

  onTestCaseResult(/** @type {{ path: string }} */ { path }, /** @type {{ fullName: string, status: string }} */ { fullName, status }) {
    append({ in: nameOf(path), test: fullName, status });
  }

  onTestFileResult(/** @type {{ path: string }} */ { path }, /** @type {FileResult} */ result) {
    const { numPassingTests, numFailingTests, numPendingTests, numTodoTests, testExecError, perfStats } = result;
    // A file that fails to load has no tests to count.
    const failed = numFailingTests + (testExecError === undefined ? 0 : 1);
    append({ over: nameOf(path), passed: numPassingTests, failed, skipped: numPendingTests + numTodoTests, ms: perfStats.end - perfStats.start });
  }

  onRunComplete() {
    append({ end: true });
  }
}

/** @param {string} path */
const nameOf = (path) => relative(ROOT, path);

/** @param {import('./jest-results.mjs').Line} line */
function append(line) {
  appendFileSync(/** @type {string} */ (process.env[RESULTS_FILE]), `${JSON.stringify(line)}\n`);
}
