import { createHash } from 'node:crypto';
import { CodedError } from './errors.js';
import { Page } from './rpc/answer.js';

/** What a page may hold. An answer travels in one frame, and clients want to see something soon. */
const maxLimit = 1_000;
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

/**
 * A list with its filter, paged by a number that only goes up: newest first, whatever is added meanwhile. A cursor of one
 * list is none of another.
 */
export class Paging {
  // Short, however long the filter is. The order and number of a filter's values mean nothing.
  private readonly fingerprint: string;

  constructor(list: string, filter: readonly string[] = []) {
    this.fingerprint = createHash('sha256')
      .update(JSON.stringify([list, [...new Set(filter)].sort()]))
      .digest('base64url')
      .slice(0, 16);
  }

  /** @throws CodedError `invalid-cursor` for everything that is not a cursor of this list */
  bounds({ limit = maxLimit, cursor }: PageRequested): PageBounds {
    return { before: cursor === undefined ? Number.MAX_SAFE_INTEGER : this.positionOf(cursor), limit };
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
    const entries: Entry[] = [];
    let bytes = 0;
    for (const row of rows) {
      const entry = view.entry(row);
      bytes += Buffer.byteLength(JSON.stringify(entry));
      const last = rows[entries.length - 1];
      if (last !== undefined && (entries.length === limit || bytes > maxPageBytes)) {
        return new Page(entries, this.cursorOf(view.position(last)), stamp);
      }
      entries.push(entry);
    }
    return new Page(entries, undefined, stamp);
  }

  private cursorOf(position: number): string {
    return Buffer.from(JSON.stringify([this.fingerprint, position])).toString('base64url');
  }

  private positionOf(cursor: string): number {
    const parsed = parse(Buffer.from(cursor, 'base64url').toString());
    const [fingerprint, position] = Array.isArray(parsed) && parsed.length === 2 ? (parsed as unknown[]) : [];
    if (fingerprint !== this.fingerprint || !Number.isSafeInteger(position) || (position as number) < 1) {
      throw new CodedError('invalid-cursor', 'The cursor is not one of this list and filter. Begin again without a cursor.');
    }
    return position as number;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
