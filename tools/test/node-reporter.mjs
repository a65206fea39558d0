import { relative } from 'node:path';
import { ROOT } from '../start/toolchain.mjs';

/**
 * Reports the duration of each test file, one JSON object per line. The TAP report, from which the counts come, does not name files.
 * @param {AsyncIterable<{ type: string, data: any }>} events of Node's test runner
 */
export default async function* durationsOfFiles(events) {
  for await (const { type, data } of events) {
    // The summary without a file is that of the whole run.
    if (type === 'test:summary' && data.file !== undefined) yield `${JSON.stringify({ name: relative(ROOT, data.file), ms: data.duration_ms })}\n`;
  }
}
