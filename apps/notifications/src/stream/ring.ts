import type { Entry } from './entry.js';
import type { Place } from './history.js';

export interface RingOptions {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** The newest entries of the log, without a hole: all of (floor, head]. */
export class Ring {
  private entries: (Entry | undefined)[] = [];
  /** Dropped ones at the beginning of `entries`, which are cut off now and then. */
  private dropped = 0;
  private bytes = 0;
  private begin: Place = 0;
  private end: Place = 0;

  constructor(private readonly options: RingOptions) {}

  get floor(): Place {
    return this.begin;
  }

  get head(): Place {
    return this.end;
  }

  get count(): number {
    return this.entries.length - this.dropped;
  }

  /** Forgets everything: what is known goes on from a place. */
  restart(place: Place): void {
    this.entries = [];
    this.dropped = 0;
    this.bytes = 0;
    this.begin = this.end = place;
  }

  /** All entries of (head, upTo]. */
  append(entries: readonly Entry[], upTo: Place): void {
    for (const entry of entries) {
      this.entries.push(entry);
      this.bytes += entry.size;
    }
    this.end = upTo;
    while (this.count > this.options.maxEntries || this.bytes > this.options.maxBytes) this.dropOldest();
    if (this.dropped > 1_000 && this.dropped > this.entries.length / 2) {
      this.entries = this.entries.slice(this.dropped);
      this.dropped = 0;
    }
  }

  /** Entries of (place, head]; `place` is not below the floor. */
  after(place: Place): readonly Entry[] {
    let low = this.dropped;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.entries[middle]?.place ?? 0) > place) high = middle;
      else low = middle + 1;
    }
    return this.entries.slice(low) as Entry[];
  }

  private dropOldest(): void {
    const oldest = this.entries[this.dropped];
    if (!oldest) return;
    this.entries[this.dropped++] = undefined;
    this.bytes -= oldest.size;
    this.begin = oldest.place;
  }
}
