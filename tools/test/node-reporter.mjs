import { relative } from 'node:path';
import { tap } from 'node:test/reporters';
import { ROOT } from '../start/toolchain.mjs';

/** @typedef {import('./durations.mjs').Duration} Duration */

/**
 * Writes a TAP report, and after it a line with the duration of each file, since TAP does not name files.
 * @param {AsyncIterable<{ type: string, data: any }>} events of Node's test runner
 */
export default async function* report(events) {
  /** @type {Duration[]} */
  const files = [];
  yield* tap(/** @type {any} */ (noting(events, files)));
  for (const file of files) yield `# file ${JSON.stringify(file)}\n`;
}

/** @param {AsyncIterable<{ type: string, data: any }>} events @param {Duration[]} files receives the durations */
async function* noting(events, files) {
  for await (const event of events) {
    const { type, data } = event;
    // The summary without a file is that of the whole run.
    if (type === 'test:summary' && data.file !== undefined) files.push({ name: relative(ROOT, data.file), ms: data.duration_ms });
    yield event;
  }
}

/** @param {string} report @returns {Duration[]} */
export const durationsOfFiles = (report) => [...report.matchAll(/^# file (.*)$/gm)].map(([, file = '']) => JSON.parse(file));
