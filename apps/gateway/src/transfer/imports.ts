import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { catalog, ImportedPlant, type ImportLinePreview, type ImportLineResult, type ImportRefusal, maxImportLines, plantAnswer } from '@plant-shop/contracts/catalog';
import { HttpError, problemTypeUrl } from '@plant-shop/contracts/problem';
import { isProblemCode, problemTable } from '@plant-shop/contracts/problem-table';
import { store } from '@plant-shop/contracts/store';
import { CodedError, type FieldError, isTransient } from '@plant-shop/platform/errors';
import type { FastifyRequest } from 'fastify';
import { checkContent, shapeOf, undeclaredMembers } from '../http/json-body.js';
import type { RpcForwarder } from '../http/rpc-forwarder.js';

/** The maximum length of a line, more than the largest plant in ASCII. */
export const maxLineBytes = 512 * 1024;

/** A line without its newline. If `tooLong`, its bytes were dropped. */
export interface Line {
  readonly number: number;
  readonly bytes: Buffer;
  readonly tooLong: boolean;
}

const newline = 0x0a;
const none = Buffer.alloc(0);

/** Splits a byte stream into lines; buffers at most one. Blank lines are numbered, but not returned. */
export class LineReader {
  private number = 0;
  private parts: Buffer[] = [];
  private length = 0;

  /** Yields the lines that end in this piece. */
  *read(piece: Buffer): Generator<Line> {
    let from = 0;
    for (let at = piece.indexOf(newline); at !== -1; at = piece.indexOf(newline, from)) {
      this.add(piece.subarray(from, at));
      from = at + 1;
      const line = this.take();
      if (line) yield line;
    }
    this.add(piece.subarray(from));
  }

  /** Returns the text after the last newline, if any. */
  rest(): Line | undefined {
    return this.length === 0 ? undefined : this.take();
  }

  private add(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.length += bytes.length;
    // Drops a line that is too long; its length is still counted.
    if (this.length > maxLineBytes) this.parts = [];
    else this.parts.push(bytes);
  }

  private take(): Line | undefined {
    const tooLong = this.length > maxLineBytes;
    const [only = none] = this.parts;
    const bytes = this.parts.length > 1 ? Buffer.concat(this.parts) : only;
    this.parts = [];
    this.length = 0;
    this.number++;
    return tooLong || !isBlank(bytes) ? { number: this.number, bytes, tooLong } : undefined;
  }
}

const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);

/** Bytes of lines per call to the catalog. A call carries 900 KiB, and escaping quotes in JSON may double the size. */
const batchBytes = 256 * 1024;
/** Bytes of a preview, also those of blank lines. */
const maxPreviewBytes = maxLineBytes + batchBytes;
/** Pauses before a batch is repeated while the catalog is down. Safe to repeat, since a batch is an upsert. */
const retryAfterMs = [200, 500, 1_000, 2_000, 4_000, 8_000];

/** The progress of an import, and its last line. */
interface Totals {
  lines: number;
  created: number;
  updated: number;
  unchanged: number;
  refused: number;
}

export interface ImportContext {
  readonly forwarder: RpcForwarder;
  readonly publicUrl: string;
  /** Aborted when the gateway stops or the request's time is up; its reason is the CodedError to report. */
  readonly stop: AbortSignal;
  /** @throws CodedError when the credential no longer permits the import */
  readonly recheckCredential: () => Promise<void>;
}

/**
 * Imports lines as they arrive. Yields a result line for each, then a line with the totals, which says how far the import got.
 * Holds one batch in memory; a client that does not read the results stops the import (backpressure).
 */
export async function* importLines(request: FastifyRequest, parts: ImportContext): AsyncGenerator<string, void, undefined> {
  const totals: Totals = { lines: 0, created: 0, updated: 0, unchanged: 0, refused: 0 };
  const summary = (problem?: object): string => line({ ...totals, complete: problem === undefined, ...(problem && { problem }) });
  const reader = new LineReader();
  const batch = new Batch();
  // Not `for await`, which destroys the connection on an early exit.
  const pieces = request.raw.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const next = await untilStopped(pieces.next(), parts.stop);
      if (next === 'stopped') throw parts.stop.reason;
      if (next.done === true) break;
      for (const one of reader.read(next.value as Buffer)) {
        if (!batch.add(one)) {
          yield await send(request, parts, batch.take(), totals);
          batch.add(one);
        }
      }
      // Others get their turn: pieces that have arrived already would follow in this one.
      await nextTurn();
      // Flushes, since the client may wait for these results before it sends more.
      if (!batch.isEmpty && request.raw.readableLength === 0) yield await send(request, parts, batch.take(), totals);
    }
    const rest = reader.rest();
    const isTruncated = rest !== undefined && check(rest).refused === undefined && parsed(rest.bytes) === undefined;
    if (rest && !isTruncated && !batch.add(rest)) {
      yield await send(request, parts, batch.take(), totals);
      batch.add(rest);
    }
    if (!batch.isEmpty) yield await send(request, parts, batch.take(), totals);
    yield summary(isTruncated ? problem(parts.publicUrl, truncated(rest.number, totals.lines)) : undefined);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    yield summary(problem(parts.publicUrl, error));
  } finally {
    leaveRest(request, pieces);
  }
}

/** Drains the unread rest of a body, which otherwise precedes the connection's next request. */
function leaveRest({ raw }: FastifyRequest, pieces: NodeJS.AsyncIterator<unknown>): void {
  void pieces.return?.().then(() => raw.resume());
}

/**
 * Says what importing a batch of lines would do: a result line for each, then a line with the totals. Nothing is changed.
 * @throws HttpError `payload-too-large` for more than a batch, `malformed-request` if the body ends within a line
 */
export async function previewLines(request: FastifyRequest, { forwarder, publicUrl }: Pick<ImportContext, 'forwarder' | 'publicUrl'>): Promise<string[]> {
  const reader = new LineReader();
  const batch = new Batch();
  const add = (one: Line): void => {
    if (!batch.add(one)) throw tooMuch(`More than ${maxImportLines} lines, or ${batchBytes / 1024} KiB, are`);
  };
  // Not `for await`, which destroys the connection on an early exit.
  const pieces = request.raw.iterator({ destroyOnReturn: false });
  let bytes = 0;
  try {
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
      const piece = next.value as Buffer;
      bytes += piece.length;
      // Otherwise blank lines, or one line without an end, could be of any size.
      if (bytes > maxPreviewBytes) throw tooMuch(`More than ${maxPreviewBytes / 1024} KiB are`);
      for (const one of reader.read(piece)) add(one);
    }
  } catch (error) {
    // Other errors are of the connection, which has ended. That is no defect.
    throw error instanceof CodedError ? error : new CodedError('malformed-request', 'The body was cut off.', {}, { cause: error });
  } finally {
    leaveRest(request, pieces);
  }
  const rest = reader.rest();
  if (rest && check(rest).refused === undefined && parsed(rest.bytes) === undefined) throw truncated(rest.number, 0);
  if (rest) add(rest);
  const checked = batch.take().map((one) => ({ one, ...check(one) }));
  const good = checked.filter(({ refused }) => refused === undefined);
  const previews = await askPreview(request, forwarder, good.map(({ one }) => one));
  const stocks = await previewStocks(request, forwarder, good, previews);
  const totals: Totals = { lines: 0, created: 0, updated: 0, unchanged: 0, refused: 0 };
  const lines: string[] = [];
  let next = 0;
  for (const { one, refused } of checked) {
    const n = next;
    if (!refused) next++;
    const preview: ImportLinePreview | undefined = refused ? { refused } : previews[n];
    if (!preview) break;
    totals['refused' in preview ? 'refused' : preview.result]++;
    totals.lines = one.number;
    const free = stocks.get(n);
    lines.push('refused' in preview ? refusedLine(publicUrl, one, preview) : line({ line: one.number, ...preview, ...(free && { free }) }));
  }
  const complete = lines.length === checked.length;
  return [...lines, line({ ...totals, complete, ...(!complete && { problem: problem(publicUrl, tooMuch('The plants of these lines are')) }) })];
}

const tooMuch = (what: string): HttpError => new HttpError('payload-too-large', `${what} too much for one preview. Send the remaining lines in another request.`);

async function askPreview(request: FastifyRequest, forwarder: RpcForwarder, lines: readonly Line[]): Promise<ImportLinePreview[]> {
  if (lines.length === 0) return [];
  try {
    return await forwarder.call(request, catalog.previewImport, { lines: lines.map(({ bytes }) => bytes.toString('utf8')) });
  } catch (error) {
    if (lines.length === 1 && error instanceof CodedError && error.code === 'payload-too-large') return [{ refused: tooLong }];
    throw error;
  }
}

interface PreviewedStock {
  /** Absent: the shop's default for a new plant. */
  readonly before?: unknown;
  readonly after: unknown;
}

/** Returns the free units that lines would set, by their indexes. Changes the previews as `setStocks` would the results. */
async function previewStocks(request: FastifyRequest, forwarder: RpcForwarder, lines: readonly CheckedLine[], previews: ImportLinePreview[]): Promise<Map<number, PreviewedStock>> {
  const stocks = new Map<number, PreviewedStock>();
  const created = new Map<PlantKey, unknown>();
  for (const [n, { quantity }] of lines.entries()) {
    const preview = previews[n];
    if (!preview || !('result' in preview) || preview.result !== 'created') continue;
    if (quantity !== undefined) stocks.set(n, { after: quantity });
    const key = keyOf(preview);
    if (key !== undefined) created.set(key, quantity);
  }
  await Promise.all([...linesThatSetStock<PlantKey>(lines, previews)].map(async ([plantId, n]) => {
    const preview = previews[n];
    const after = lines[n]?.quantity;
    try {
      const before = typeof plantId === 'string' || created.has(plantId) ? created.get(plantId) : (await forwarder.call(request, store.getStock, { plantId })).free;
      stocks.set(n, { before, after });
      if (before !== after && preview && 'result' in preview && preview.result === 'unchanged') previews[n] = { ...preview, result: 'updated' };
    } catch (error) {
      previews[n] = refusalOf(Number(plantId), error);
    }
  }));
  return stocks;
}

/** Lines for one call to the catalog. */
class Batch {
  private lines: Line[] = [];
  private bytes = 0;

  get isEmpty(): boolean {
    return this.lines.length === 0;
  }

  /** @returns false if the batch has no room for the line */
  add(one: Line): boolean {
    if (this.lines.length > 0 && (this.lines.length >= maxImportLines || this.bytes + one.bytes.length > batchBytes)) return false;
    this.lines.push(one);
    this.bytes += one.bytes.length;
    return true;
  }

  take(): Line[] {
    const { lines } = this;
    this.lines = [];
    this.bytes = 0;
    return lines;
  }
}

/** Imports a batch and returns its result lines. @throws CodedError if the import cannot continue; then none of the lines counts */
async function send(request: FastifyRequest, parts: ImportContext, lines: readonly Line[], totals: Totals): Promise<string> {
  await parts.recheckCredential();
  const checked = lines.map((one) => ({ one, ...check(one) }));
  const good = checked.filter(({ refused }) => refused === undefined);
  const results = good.length === 0 ? [] : await ask(request, parts, good.map(({ one }) => one));
  await setStocks(request, parts, good, results);
  let written = '';
  let next = 0;
  for (const { one, refused } of checked) {
    const result: ImportLineResult | undefined = refused ? { refused } : results[next++];
    if (!result) throw new Error('the catalog answered fewer lines than it was sent');
    if ('refused' in result) {
      totals.refused++;
      written += refusedLine(parts.publicUrl, one, result);
    } else {
      totals[result.result]++;
      written += line({ line: one.number, id: result.id, result: result.result });
    }
    totals.lines = one.number;
  }
  return written;
}

async function ask(request: FastifyRequest, parts: ImportContext, lines: readonly Line[]): Promise<ImportLineResult[]> {
  try {
    const payload = { lines: lines.map(({ bytes }) => bytes.toString('utf8')) };
    return await repeatedly(parts, () => parts.forwarder.call(request, catalog.importPlants, payload));
  } catch (error) {
    if (error instanceof CodedError && error.code === 'payload-too-large') return await oneByOne(request, parts, lines);
    throw error;
  }
}

async function repeatedly<T>({ stop }: ImportContext, call: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const waitMs = retryAfterMs[attempt];
      if (waitMs === undefined || stop.aborted || !isTransient(error)) throw error;
      await sleep(waitMs);
    }
  }
}

/**
 * Sets the stock of existing plants whose lines have a quantity; the catalog opened that of new ones, and refused lines of callers who may not
 * set it. Changes the results. Of two lines with the same id, the later one wins.
 */
async function setStocks(request: FastifyRequest, parts: ImportContext, lines: readonly CheckedLine[], results: ImportLineResult[]): Promise<void> {
  await Promise.all([...linesThatSetStock<number>(lines, results)].map(async ([plantId, n]) => {
    try {
      const free = lines[n]?.quantity;
      const before = await repeatedly(parts, () => parts.forwarder.call(request, store.getStock, { plantId }));
      if (before.free === free) return;
      await repeatedly(parts, () => parts.forwarder.call(request, store.setStock, { plantId, stock: { free } }));
      results[n] = { id: plantId, result: 'updated' };
    } catch (error) {
      results[n] = refusalOf(plantId, error);
    }
  }));
}

/** A plant's id; in a preview, the external id of one that an earlier line would create. */
type PlantKey = number | string;

const keyOf = (result: ImportLineResult | ImportLinePreview): PlantKey | undefined => result.id ?? ('after' in result ? result.after.externalId : undefined);

/** Returns the lines that set the stock of an existing plant, as indexes by its key. */
function linesThatSetStock<Key extends PlantKey>(lines: readonly CheckedLine[], results: readonly (ImportLineResult | ImportLinePreview)[]): Map<Key, number> {
  const indexes = new Map<PlantKey, number>();
  for (const [n, { quantity }] of lines.entries()) {
    const result = results[n];
    const key = result && keyOf(result);
    if (quantity !== undefined && key !== undefined && result && 'result' in result && result.result !== 'created') indexes.set(key, n);
  }
  return indexes as Map<Key, number>;
}

/** A plant that was deleted meanwhile. @throws any other error */
function refusalOf(id: number, error: unknown): { readonly id: number; readonly refused: ImportRefusal } {
  if (!(error instanceof CodedError) || error.code !== 'plant-not-found') throw error;
  return { id, refused: { code: error.code, detail: error.message } };
}

function refusedLine(publicUrl: string, { number }: Line, { refused: { code, detail, errors }, id }: { readonly id?: number; readonly refused: ImportRefusal }): string {
  const error = new CodedError(code, detail, errors ? { errors } : {});
  return line({ line: number, ...(id !== undefined && { id }), result: 'refused', problem: problem(publicUrl, error) });
}

/** Sends lines one by one that exceed a call once they are JSON-encoded; rare, since quotes must double its size. */
async function oneByOne(
  request: FastifyRequest,
  parts: ImportContext,
  lines: readonly Line[],
): Promise<ImportLineResult[]> {
  if (lines.length === 1) return [{ refused: tooLong }];
  const results: ImportLineResult[] = [];
  for (const one of lines) results.push(...(await ask(request, parts, [one])));
  return results;
}

const tooLong: ImportRefusal = { code: 'payload-too-large', detail: `A line may have at most ${maxLineBytes / 1024} KiB.` };

const shape = shapeOf(ImportedPlant, [plantAnswer]);

interface CheckedLine {
  readonly refused?: ImportRefusal;
  /** The units that it sets; the catalog validates them. */
  readonly quantity?: unknown;
}

/** Checks a line as a JSON body is checked, apart from its syntax, which the catalog checks. */
function check({ bytes, tooLong: isTooLong }: Line): CheckedLine {
  if (isTooLong) return { refused: tooLong };
  if (!isUtf8(bytes)) return { refused: { code: 'malformed-json', detail: 'The line is not UTF-8.' } };
  try {
    checkContent(bytes);
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return { refused: badLine(error.details.errors?.filter((one) => 'pointer' in one) ?? []) };
  }
  const value = parsed(bytes);
  const undeclared = undeclaredMembers(shape, value);
  if (undeclared.length > 0) return { refused: badLine(undeclared) };
  const { quantity } = (value ?? {}) as { readonly quantity?: unknown };
  return quantity === undefined || quantity === null ? {} : { quantity };
}

const badLine = (errors: readonly FieldError[]): ImportRefusal => ({ code: 'invalid-input', detail: 'Correct the fields named in errors and send the line again.', errors });

/** Returns the value of a line; undefined if it is not JSON. */
function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

const truncated = (number: number, processed: number): HttpError =>
  new HttpError('malformed-request', `The body ends within line ${number}. ${processed} lines were processed. Send the rest again.`);

/** A problem (RFC 9457) without the members that are the same for the whole request. */
function problem(publicUrl: string, error: CodedError): object {
  const code = isProblemCode(error.code) ? error.code : 'internal';
  const { status, title } = problemTable[code];
  const { errors } = error.details;
  return { type: problemTypeUrl(publicUrl, code), title, status, ...(status !== 500 && { detail: error.message }), code, ...(errors && { errors }) };
}

const line = (value: object): string => `${JSON.stringify(value)}\n`;

async function untilStopped<T>(next: Promise<T>, stop: AbortSignal): Promise<T | 'stopped'> {
  if (stop.aborted) return 'stopped';
  let onAbort = (): void => undefined;
  const stopped = new Promise<'stopped'>((resolve) => {
    onAbort = () => resolve('stopped');
    stop.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([next, stopped]);
  } finally {
    stop.removeEventListener('abort', onAbort);
  }
}
