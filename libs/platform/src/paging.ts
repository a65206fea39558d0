import { createHash } from 'node:crypto';
import { CodedError } from './errors.js';
import { Page } from './rpc/answer.js';

/** Maximum number of entries per page. An answer must fit one frame, and clients want to show something soon. */
export const maxLimit = 1_000;
const maxPageBytes = 512 * 1024;

/** The requested page. */
export interface PageRequest {
  readonly limit?: number;
  readonly cursor?: string;
}

/** The bounds of a page: at most `limit` rows below `before`. */
export interface PageBounds {
  readonly before: number;
  readonly limit: number;
}

/** The bounds of a page in text order: at most `limit` rows above `after`. */
export interface TextPageBounds {
  readonly after: string;
  readonly limit: number;
}

/** The cursors of one list with one filter. A cursor of another list or filter is invalid. */
export class Cursors {
  // A hash, so that cursors stay short with long filters. Order and repetition of the filter's values do not matter.
  private readonly fingerprint: string;

  constructor(list: string, filter: readonly string[] = []) {
    this.fingerprint = createHash('sha256')
      .update(JSON.stringify([list, [...new Set(filter)].sort()]))
      .digest('base64url')
      .slice(0, 16);
  }

  /** Returns a cursor that holds a position, which must be serialisable as JSON. `positionIn` reads it. */
  cursorOf(position: unknown): string {
    return Buffer.from(JSON.stringify([this.fingerprint, position])).toString('base64url');
  }

  /** @throws CodedError `invalid-cursor` unless it is a cursor of this list, with a valid position */
  positionIn<Position>(cursor: string, isPosition: (value: unknown) => value is Position): Position {
    const parsed = parse(Buffer.from(cursor, 'base64url').toString());
    const [fingerprint, position] = Array.isArray(parsed) && parsed.length === 2 ? (parsed as unknown[]) : [];
    if (fingerprint !== this.fingerprint || !isPosition(position)) {
      throw new CodedError('invalid-cursor', 'The cursor does not belong to this list and filter. Start again without a cursor.');
    }
    return position;
  }
}

const isPosition = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1;

/** Returns the first rows that fit a page: at most `limit` entries and about 512 KiB of JSON, but at least one entry. */
export function fitToPage<Row, Entry>(rows: readonly Row[], limit: number, entryOf: (row: Row) => Entry): Entry[] {
  const entries: Entry[] = [];
  let bytes = 0;
  for (const row of rows) {
    const entry = entryOf(row);
    bytes += Buffer.byteLength(JSON.stringify(entry));
    if (entries.length > 0 && (entries.length === limit || bytes > maxPageBytes)) break;
    entries.push(entry);
  }
  return entries;
}

/** Pages a list by an increasing number, newest first. Entries added meanwhile do not shift the pages. */
export class Paging {
  private readonly cursors: Cursors;

  constructor(list: string, filter: readonly string[] = []) {
    this.cursors = new Cursors(list, filter);
  }

  /** @throws CodedError `invalid-cursor` unless it is a cursor of this list */
  bounds({ limit = maxLimit, cursor }: PageRequest): PageBounds {
    return { before: cursor === undefined ? Number.MAX_SAFE_INTEGER : this.cursors.positionIn(cursor, isPosition), limit };
  }

  /**
   * Returns a page of at most `limit` entries and about 512 KiB of JSON, but at least one entry.
   * @param rows up to one row more than the limit, which shows whether there is a next page
   */
  page<Row, Entry>(
    rows: readonly Row[],
    { limit }: PageBounds,
    view: { readonly entry: (row: Row) => Entry; readonly position: (row: Row) => number },
    stamp?: string,
  ): Page<Entry> {
    const entries = fitToPage(rows, limit, view.entry);
    const last = entries.length < rows.length ? rows[entries.length - 1] : undefined;
    return new Page(entries, last && this.cursors.cursorOf(view.position(last)), stamp);
  }
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && !value.includes('\0') && value.isWellFormed();

/** Pages a list in the order of a unique text, such as a name. */
export class TextPaging {
  private readonly cursors: Cursors;

  constructor(list: string, filter: readonly string[] = []) {
    this.cursors = new Cursors(list, filter);
  }

  /** @throws CodedError `invalid-cursor` unless it is a cursor of this list */
  bounds({ limit = maxLimit, cursor }: PageRequest): TextPageBounds {
    return { after: cursor === undefined ? '' : this.cursors.positionIn(cursor, isText), limit };
  }

  /** Like `Paging.page`. */
  page<Row, Entry>(
    rows: readonly Row[],
    { limit }: Pick<TextPageBounds, 'limit'>,
    view: { readonly entry: (row: Row) => Entry; readonly position: (row: Row) => string },
  ): Page<Entry> {
    const entries = fitToPage(rows, limit, view.entry);
    const last = entries.length < rows.length ? rows[entries.length - 1] : undefined;
    return new Page(entries, last && this.cursors.cursorOf(view.position(last)));
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
