import { createHash } from 'node:crypto';
import { CodedError } from '../errors.js';
import { Page } from '../rpc/answer.js';

/** Maximum number of entries per page. An answer must fit one RPC batch, and clients want to show something soon. */
export const maxLimit = 1_000;
const maxPageBytes = 512 * 1024;

/** The requested page. */
export interface PageRequest {
  readonly limit?: number;
  readonly cursor?: string;
}

/** The bounds of a page: at most `limit` rows after a position, in the list's order. */
export interface PageBounds<Position = number> {
  readonly after: Position;
  readonly limit: number;
}

/** A kind of list, by what its rows are ordered by. */
export interface Sorting<Position> {
  /** Where the list begins: before all rows. */
  readonly start: Position;
  readonly isPosition: (value: unknown) => value is Position;
}

/** Newest first, by a number that only increases. */
export const byNumber: Sorting<number> = {
  start: Number.MAX_SAFE_INTEGER,
  isPosition: (value): value is number => Number.isSafeInteger(value) && (value as number) >= 1,
};

/** Oldest first, by a number that only increases. */
export const byRisingNumber: Sorting<number> = { ...byNumber, start: 0 };

/** In the order of a unique text, such as a name. */
export const byText: Sorting<string> = {
  start: '',
  isPosition: (value): value is string => typeof value === 'string' && value !== '' && !value.includes('\0') && value.isWellFormed(),
};

/** A time in milliseconds, `YYYY-MM-DDTHH:mm:ss.SSSZ`, and the id of a row of that time. */
export interface TimePosition {
  readonly at: string;
  readonly id: number;
}

/** Newest first, by the time that the rows show, so that a list can begin at any time. Rows of one time are in the order of their ids. */
export const byTime: Sorting<TimePosition> = {
  start: { at: 'infinity', id: Number.MAX_SAFE_INTEGER },
  isPosition: (value): value is TimePosition => {
    const { at, id } = (value ?? {}) as Partial<TimePosition>;
    return typeof at === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(at) && !Number.isNaN(Date.parse(at)) && Number.isSafeInteger(id);
  },
};

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

/** Pages a list. Entries added meanwhile do not shift the pages. */
export class Paging<Position> {
  private readonly cursors: Cursors;

  constructor(
    list: string,
    private readonly sorting: Sorting<Position>,
    filter: readonly string[] = [],
  ) {
    this.cursors = new Cursors(list, filter);
  }

  /** @throws CodedError `invalid-cursor` unless it is a cursor of this list */
  bounds({ limit = maxLimit, cursor }: PageRequest): PageBounds<Position> {
    return { after: cursor === undefined ? this.sorting.start : this.cursors.positionIn(cursor, this.sorting.isPosition), limit };
  }

  /**
   * Returns a page of at most `limit` entries and about 512 KiB of JSON, but at least one entry.
   * @param rows up to one row more than the limit, which shows whether there is a next page
   * @param view `readTo`: the row at which reading stopped before the end of the list, if it did not fill the page
   */
  page<Row, Entry>(
    rows: readonly Row[],
    { limit }: Pick<PageBounds, 'limit'>,
    view: { readonly entry: (row: Row) => Entry; readonly position: (row: Row) => Position; readonly readTo?: Row | undefined },
    stamp?: string,
  ): Page<Entry> {
    const entries = fitToPage(rows, limit, view.entry);
    const last = entries.length < rows.length ? rows[entries.length - 1] : view.readTo;
    return new Page(entries, last && this.cursors.cursorOf(view.position(last)), stamp);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
