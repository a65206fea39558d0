import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { StartError } from '../start/errors.mjs';
import { EXPORTED, headerOf, linesOf, recordOf } from './csv.mjs';
import { Progress } from './progress.mjs';

/**
 * Exports to a temporary file, and replaces the target when the export is complete.
 * @param {{ path: string, format: import('./csv.mjs').Format }} file @param {import('./import.mjs').Shop} shop @returns {Promise<number>} the exit code
 */
export async function exportTo({ path, format }, { url, key, signal }) {
  const response = await fetch(new URL('/v3/plant/export', url), { headers: { api_key: key }, signal });
  if (!response.ok || !response.body) throw new StartError(`The shop refuses the export: ${await response.text()}`);
  const draft = `${path}.part`;
  const progress = new Progress();
  let plants = 0;
  const body = Readable.fromWeb(/** @type {any} */ (response.body));
  async function* written() {
    if (format === 'csv') yield headerOf(EXPORTED);
    for await (const line of linesOf(body)) {
      yield format === 'csv' ? recordOf(JSON.parse(line)) : `${line}\n`;
      progress.show(++plants);
    }
  }
  try {
    // Throws if the body is cut off, so that a partial export never replaces the file.
    await pipeline(Readable.from(written()), createWriteStream(draft));
  } catch (error) {
    await rm(draft, { force: true });
    throw new StartError(`The export was cut off after ${plants} plants (${/** @type {Error} */ (error).message}). ${path} is unchanged.`);
  }
  await rename(draft, path);
  progress.end();
  console.log(`${plants} plants, ${progress.rate(plants)}`);
  return 0;
}
