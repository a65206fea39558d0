import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Agent, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../start/errors.mjs';
import { plantOf, recordsOf } from './csv.mjs';
import { linesOf } from './lines.mjs';
import { Progress } from './progress.mjs';

/** Consecutive requests that process no line. */
const TRIES = 6;

/**
 * @typedef {object} Shop
 * @property {string} url
 * @property {string} key
 * @property {AbortSignal} signal
 */

/** @typedef {{ status?: number, detail?: string, title?: string, errors?: { pointer?: string, detail: string }[] }} Problem */
/** @typedef {Record<'created' | 'updated' | 'unchanged' | 'refused', number>} Sum lines by their result */
/**
 * What the shop says of a line, and at the end of all.
 * @typedef {{ result: keyof Sum, line: number, problem: Problem } | { result?: undefined, complete: boolean, problem?: Problem }} Result
 */

/**
 * Sends a file, in several requests if one does not process all of it.
 * @param {{ path: string, format: import('./options.mjs').Format }} file @param {Shop} shop @returns {Promise<number>} the exit code
 */
export async function importFrom(file, shop) {
  const { size } = await stat(file.path).catch(() => {
    throw new StartError(`${file.path} cannot be read.`);
  });
  const progress = new Progress();
  const sum = { created: 0, updated: 0, unchanged: 0, refused: 0 };
  let processed = 0;
  for (let tries = 0; ; tries++) {
    const outcome = await importOnce(file, shop, { skip: processed, size, sum, progress });
    if (outcome.processed > processed) tries = 0;
    processed = outcome.processed;
    if (outcome.complete) break;
    if (shop.signal.aborted || tries >= TRIES) throw new StartError(`${processed} lines were processed. ${outcome.why} Start the import again to continue.`);
    await sleep(Math.min(500 * 2 ** tries, 8_000), undefined, { signal: shop.signal }).catch(() => undefined);
  }
  progress.end();
  const { created, updated, unchanged, refused } = sum;
  console.log(`${created} created, ${updated} updated, ${unchanged} unchanged, ${refused} refused, ${progress.rate(created + updated + unchanged + refused)}`);
  return refused === 0 ? 0 : 1;
}

/**
 * @param {Parameters<typeof importFrom>[0]} file @param {Shop} shop
 * @param {{ skip: number, size: number, sum: Sum, progress: Progress }} state
 * @returns {Promise<{ processed: number, complete: boolean, why: string }>} processed lines of the file, including those of earlier requests
 */
async function importOnce(file, shop, { skip, size, sum, progress }) {
  const source = createReadStream(file.path);
  const lines = file.format === 'csv' ? linesOfCsv(source) : linesOf(source);
  const body = Readable.from(after(lines, skip), { objectMode: false });
  let processed = skip;
  /** @type {{ complete: boolean, problem?: Problem } | undefined} */
  let last;
  try {
    for await (const text of linesOf(await post(shop, body))) {
      /** @type {Result} */
      const result = JSON.parse(text);
      if (result.result === undefined) {
        last = result;
        break;
      }
      processed = skip + result.line;
      sum[result.result]++;
      if (result.result === 'refused') {
        progress.end();
        console.error(`line ${processed}: ${faultsOf(result.problem)}`);
      }
      progress.show(processed, size === 0 ? 1 : source.bytesRead / size);
    }
  } catch (error) {
    if (error instanceof StartError) throw error;
    return { processed, complete: false, why: `The connection was lost (${/** @type {Error} */ (error).message}).` };
  } finally {
    source.destroy();
  }
  const status = last?.problem?.status ?? 0;
  const why = last?.problem?.detail ?? last?.problem?.title ?? 'The response was cut off.';
  if (status >= 400 && status < 500 && status !== 408) throw new StartError(`${processed} lines were processed. ${why}`);
  return { processed, complete: last?.complete === true, why };
}

/** @param {Problem} problem */
const faultsOf = (problem) =>
  problem.errors ? problem.errors.map((one) => `${one.pointer || 'the line'} ${one.detail}`).join('; ') : problem.detail;

/**
 * Sends by `node:http`, which delivers the response while the body is being sent.
 * @param {Shop} shop @param {Readable} body @returns {Promise<import('node:http').IncomingMessage>}
 */
function post({ url, key, signal }, body) {
  const target = new URL('/v3/plant/import', url);
  const send = target.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const headers = { api_key: key, 'content-type': 'application/x-ndjson' };
    const sent = send(target, { method: 'POST', headers, signal, ...(target.protocol === 'http:' && { agent: new Agent() }) }, (response) => {
      if (response.statusCode === 200) return resolve(response);
      response.setEncoding('utf8');
      response.toArray().then((parts) => reject(new StartError(`The shop refuses the import: ${parts.join('')}`)), reject);
    });
    sent.on('error', reject);
    body.on('error', (error) => sent.destroy(error));
    body.pipe(sent);
  });
}

/** @param {Readable} source */
async function* linesOfCsv(source) {
  /** @type {string[] | undefined} */
  let names;
  for await (const record of recordsOf(source.setEncoding('utf8'))) {
    if (names) yield JSON.stringify(plantOf(names, record));
    else {
      names = record.map((name) => name.trim());
      if (!names.includes('id') || !names.includes('name')) throw new StartError('The first line of the file must name its columns, including id and name.');
    }
  }
}

/** Groups lines into pieces. @param {AsyncIterable<string>} lines @param {number} skip */
async function* after(lines, skip) {
  let number = 0;
  let piece = '';
  for await (const line of lines) {
    if (++number <= skip) continue;
    piece += `${line}\n`;
    if (piece.length < 32_768) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}
