/** What a read is answered with, ready to be sent. */
export interface CachedResponse {
  readonly payload: Buffer;
  readonly etag: string | undefined;
  /** The `Link` header. */
  readonly link: string | undefined;
  /** What is checked before it is sent again; absent where the owner gave none: it is never sent again. */
  readonly stamp: string | undefined;
}

/** Beside key and payload: the entry, its headers, and what the map takes for it. */
const overheadBytes = 600;

const bytesOf = (key: string, { payload }: CachedResponse): number => payload.length + 2 * key.length + overheadBytes;

/** Answers by what was asked, of bounded size: beyond it those go that nobody has asked for the longest. */
export class ReadCache {
  private readonly entries = new Map<string, CachedResponse>();
  private total = 0;

  constructor(private readonly maxBytes: number) {}

  get(key: string): CachedResponse | undefined {
    const found = this.entries.get(key);
    if (!found) return undefined;
    // The map's order is that of the last use.
    this.entries.delete(key);
    this.entries.set(key, found);
    return found;
  }

  /** One that takes more than an eighth of the room is not kept: it would drive out too much. */
  set(key: string, read: CachedResponse): void {
    this.delete(key);
    const bytes = bytesOf(key, read);
    if (bytes > this.maxBytes / 8) return;
    this.entries.set(key, read);
    this.total += bytes;
    for (const oldest of this.entries.keys()) {
      if (this.total <= this.maxBytes) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const found = this.entries.get(key);
    if (!found) return;
    this.entries.delete(key);
    this.total -= bytesOf(key, found);
  }

  get size(): number {
    return this.entries.size;
  }

  get bytes(): number {
    return this.total;
  }
}
