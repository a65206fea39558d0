/** A response that is ready to be sent. */
export interface CachedResponse {
  readonly payload: Buffer;
  readonly etag: string | undefined;
  /** The `Link` header. */
  readonly link: string | undefined;
  /** Checked before each reuse. Without a stamp from the catalog the response is never reused. */
  readonly stamp: string | undefined;
}

/** Estimated memory of an entry in addition to its key and payload. */
const overheadBytes = 600;

const bytesOf = (key: string, { payload }: CachedResponse): number => payload.length + 2 * key.length + overheadBytes;

/** A least-recently-used cache of responses, bounded by their total size. */
export class ReadCache {
  private readonly entries = new Map<string, CachedResponse>();
  private total = 0;

  constructor(private readonly maxBytes: number) {}

  get(key: string): CachedResponse | undefined {
    const found = this.entries.get(key);
    if (!found) return undefined;
    // Moves the entry to the end: the map is ordered by last use.
    this.entries.delete(key);
    this.entries.set(key, found);
    return found;
  }

  /** Caches a response, unless it is larger than an eighth of the cache and would evict too many others. */
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
