import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Agent, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../start/errors.mjs';
import { BadFile, linesOf, sourceLines, whyOf } from './csv.mjs';
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

/** @typedef {{ path: string, format: import('./csv.mjs').Format }} File */

/**
 * Checks a file, then sends it, in several requests if one does not process all of it.
 * @param {File} file @param {Shop} shop @returns {Promise<number>} the exit code
 */
export async function importFrom(file, shop) {
  const { size, mtimeMs } = await stat(file.path).catch(() => {
    throw new StartError(`${file.path} cannot be read.`);
  });
  const blank = await check(file);
  const progress = new Progress();
  const sum = { created: 0, updated: 0, unchanged: 0, refused: 0 };
  let processed = 0;
  for (let tries = 0; ; tries++) {
    const outcome = await importOnce(file, shop, { skip: processed, size, version: `${size}-${Math.trunc(mtimeMs)}`, sum, progress });
    if (outcome.processed > processed) tries = 0;
    processed = outcome.processed;
    if (outcome.complete) break;
    if (shop.signal.aborted || tries >= TRIES) throw new StartError(`${upTo(processed)} ${outcome.why} Start the import again to continue.`);
    await sleep(Math.max(outcome.retryAfterMs ?? 0, Math.min(500 * 2 ** tries, 8_000)), undefined, { signal: shop.signal }).catch(() => undefined);
  }
  progress.end();
  const { created, updated, unchanged, refused } = sum;
  const skipped = blank === 0 ? '' : `${blank} blank lines skipped, `;
  console.log(`${created} created, ${updated} updated, ${unchanged} unchanged, ${refused} refused, ${skipped}${progress.rate(created + updated + unchanged + refused)}`);
  return refused === 0 ? 0 : 1;
}

const upTo = (/** @type {number} */ line) => (line === 0 ? 'Nothing was imported.' : `The file was imported up to line ${line}.`);

/** Reads a file to its end, so that nothing of a damaged one is stored. @param {File} file @returns {Promise<number>} its blank lines */
async function check({ path, format }) {
  let blank = 0;
  try {
    for await (const { text } of sourceLines(format, createReadStream(path))) if (text === '') blank++;
  } catch (error) {
    throw new StartError(`${path} cannot be imported. ${/** @type {Error} */ (error).message}`);
  }
  return blank;
}

/**
 * @param {File} file @param {Shop} shop
 * @param {{ skip: number, size: number, version: string, sum: Sum, progress: Progress }} state `skip`: the last line of the file that was processed; `version`: of the file
 * @returns {Promise<{ processed: number, complete: boolean, why: string, retryAfterMs?: number }>}
 */
async function importOnce(file, shop, { skip, size, version, sum, progress }) {
  const source = createReadStream(file.path);
  /** Lines whose results are not counted yet; those that are not in the stream have theirs. @type {(import('./csv.mjs').SourceLine & { created?: true })[]} */
  const open = [];
  let processed = skip;
  const refuse = (/** @type {string} */ why) => {
    sum.refused++;
    progress.end();
    console.error(`line ${processed}: ${why}`);
  };
  /** Counts the next lines as far as they are not in the stream. */
  const takeOthers = () => {
    for (let [next] = open; next && (next.fault !== undefined || next.created); [next] = open) {
      processed = next.number;
      open.shift();
      if (next.fault === undefined) sum.created++;
      else refuse(next.fault);
    }
  };
  /** @type {{ complete: boolean, problem?: Problem } | undefined} */
  let last;
  /** Why no more lines were sent. @type {unknown} */
  let ended;
  try {
    for await (const text of linesOf(await post(shop, Readable.from(unprocessed(), { objectMode: false })))) {
      /** @type {Result} */
      const result = JSON.parse(text);
      if (result.result === undefined) {
        last = result;
        break;
      }
      takeOthers();
      processed = open.shift()?.number ?? processed;
      if (result.result === 'refused') refuse(whyOf(file.format, result.problem));
      else sum[result.result]++;
      progress.show(processed, size === 0 ? 1 : source.bytesRead / size);
    }
  } catch (thrown) {
    const error = ended ?? thrown;
    if (error instanceof StartError) throw error;
    if (error instanceof BadFile) throw new StartError(`${upTo(processed)} The file has changed meanwhile. ${error.message}`);
    if (error instanceof Busy) return { processed, complete: false, why: error.message, retryAfterMs: error.retryAfterMs };
    return { processed, complete: false, why: `The connection was lost (${/** @type {Error} */ (error).message}).` };
  } finally {
    source.destroy();
  }
  const complete = last?.complete === true;
  if (complete) takeOthers();
  const why = last?.problem?.detail ?? last?.problem?.title ?? 'The response was cut off.';
  if (isFinal(last?.problem?.status ?? 0)) throw new StartError(`${upTo(processed)} ${why}`);
  return { processed, complete, why };

  /** Groups the lines after `skip` into pieces. */
  async function* unprocessed() {
    let piece = '';
    try {
      for await (const line of sourceLines(file.format, source)) {
        if (line.text === '' || line.number <= skip) continue;
        open.push(line.isNew ? { ...line, ...(await create(shop, line.text, `plants-${version}-${line.number}`, file.format)) } : line);
        takeOthers();
        if (line.isNew || line.fault !== undefined) continue;
        piece += `${line.text}\n`;
        if (piece.length < 32_768) continue;
        yield piece;
        piece = '';
      }
    } catch (error) {
      ended = error;
      throw error;
    }
    if (piece !== '') yield piece;
  }
}

/** Whether repeating a request is useless. @param {number} status */
const isFinal = (status) => status >= 400 && status < 500 && status !== 408 && status !== 429;

/** The shop took nothing of a request, which may be repeated after a pause. */
class Busy extends Error {
  /** @param {string} message @param {string | undefined} retryAfter */
  constructor(message, retryAfter) {
    super(message);
    this.retryAfterMs = (Number(retryAfter) || 0) * 1_000;
  }
}

/**
 * Creates a plant to which the shop gives an id, once for each key.
 * @param {Shop} shop @param {string} plant JSON @param {string} idempotencyKey @param {File['format']} format
 * @returns {Promise<{ created: true } | { fault: string }>}
 */
async function create({ url, key, signal }, plant, idempotencyKey, format) {
  const headers = { api_key: key, 'content-type': 'application/json', 'idempotency-key': idempotencyKey };
  const response = await fetch(new URL('/v3/plant', url), { method: 'POST', headers, body: plant, signal });
  const text = await response.text();
  if (response.ok) return { created: true };
  if (response.status === 401 || response.status === 403) throw new StartError(`The shop refuses the import: ${text}`);
  if (isFinal(response.status)) return { fault: whyOf(format, JSON.parse(text)) };
  throw new Busy(`The shop cannot take the import now: ${text}`, response.headers.get('retry-after') ?? undefined);
}

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
      const text = response.toArray().then((parts) => parts.join(''));
      const { statusCode = 0, headers: { 'retry-after': retryAfter } } = response;
      if (isFinal(statusCode)) text.then((why) => reject(new StartError(`The shop refuses the import: ${why}`)), reject);
      else text.then((why) => reject(new Busy(`The shop cannot take the import now: ${why}`, retryAfter)), reject);
    });
    sent.on('error', reject);
    body.on('error', (error) => sent.destroy(error));
    body.pipe(sent);
  });
}
