import { createHash } from 'node:crypto';
import { CodedError } from './errors.js';
import { Page } from './rpc/answer.js';

/** What a page may hold. An answer travels in one frame, and clients want to see something soon. */
export const maxLimit = 1_000;
const maxPageBytes = 512 * 1024;

/** Which page is asked for. */
export interface PageRequested {
  readonly limit?: number;
  readonly cursor?: string;
}

/** Where a page begins and ends: rows below `before`, at most `limit` of them. */
export interface PageBounds {
  readonly before: number;
  readonly limit: number;
}

/** Where a page of a list in the order of a text begins and ends: rows above `after`, at most `limit` of them. */
export interface TextPageBounds {
  readonly after: string;
  readonly limit: number;
}

/** Cursors of a list with its filter: a cursor of one list is none of another. */
export class Cursors {
  // Short, however long the filter is. The order and number of a filter's values mean nothing.
  private readonly fingerprint: string;

  constructor(list: string, filter: readonly string[] = []) {
    this.fingerprint = createHash('sha256')
      .update(JSON.stringify([list, [...new Set(filter)].sort()]))
      .digest('base64url')
      .slice(0, 16);
  }

  /** @param position JSON; `positionIn` gives it back */
  cursorOf(position: unknown): string {
    return Buffer.from(JSON.stringify([this.fingerprint, position])).toString('base64url');
  }

  /** @throws CodedError `invalid-cursor` for everything that is not a cursor of this list with a position of this kind */
  positionIn<Position>(cursor: string, isPosition: (value: unknown) => value is Position): Position {
    const parsed = parse(Buffer.from(cursor, 'base64url').toString());
    const [fingerprint, position] = Array.isArray(parsed) && parsed.length === 2 ? (parsed as unknown[]) : [];
    if (fingerprint !== this.fingerprint || !isPosition(position)) {
      throw new CodedError('invalid-cursor', 'The cursor is not one of this list and filter. Begin again without a cursor.');
    }
    return position;
  }
}

const isPosition = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1;

/** The first of `rows` that fit a page: at most `limit` of them, and about 512 KiB of JSON; at least one fits. */
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

/** A list with its filter, paged by a number that only goes up: newest first, whatever is added meanwhile. */
export class Paging {
  private readonly cursors: Cursors;

  constructor(list: string, filter: readonly string[] = []) {
    this.cursors = new Cursors(list, filter);
  }

  /** @throws CodedError `invalid-cursor` for everything that is not a cursor of this list */
  bounds({ limit = maxLimit, cursor }: PageRequested): PageBounds {
    return { before: cursor === undefined ? Number.MAX_SAFE_INTEGER : this.cursors.positionIn(cursor, isPosition), limit };
  }

  /**
   * The page of `rows`, which were read one more than the limit so that a next page is known of. It also ends at about
   * 512 KiB of JSON; at least one entry fits.
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

/** A list with its filter, in the order of a text that no two entries share, such as a name. */
export class TextPaging {
  private readonly cursors: Cursors;

  constructor(list: string, filter: readonly string[] = []) {
    this.cursors = new Cursors(list, filter);
  }

  /** @throws CodedError `invalid-cursor` for everything that is not a cursor of this list */
  bounds({ limit = maxLimit, cursor }: PageRequested): TextPageBounds {
    return { after: cursor === undefined ? '' : this.cursors.positionIn(cursor, isText), limit };
  }

  /** The page of `rows`, which were read one more than the limit. It also ends at about 512 KiB of JSON. */
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
