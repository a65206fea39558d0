import { Injectable } from '@nestjs/common';
import { gauge } from '@plant-shop/platform/service/metrics';
import { Counter, Registry } from 'prom-client';
import type { Position } from './history.js';
import type { LogEntry } from './log-entry.js';

export interface RingOptions {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** The newest entries of the log in memory: all of (floor, head], without a gap. */
export class Ring {
  private entries: (LogEntry | undefined)[] = [];
  /** Number of dropped entries at the start of `entries`; the array is compacted from time to time. */
  private dropped = 0;
  private bytes = 0;
  private begin: Position = 0;
  private end: Position = 0;

  constructor(private readonly options: RingOptions) {}

  get floor(): Position {
    return this.begin;
  }

  get head(): Position {
    return this.end;
  }

  get count(): number {
    return this.entries.length - this.dropped;
  }

  /** Drops all entries and continues from a position. */
  restart(position: Position): void {
    this.entries = [];
    this.dropped = 0;
    this.bytes = 0;
    this.begin = this.end = position;
  }

  /** Appends all entries of (head, upTo] and drops the oldest ones beyond the limits. */
  append(entries: readonly LogEntry[], upTo: Position): void {
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

  /** Returns the entries of (position, head]. `position` must not be below the floor. */
  after(position: Position): readonly LogEntry[] {
    let low = this.dropped;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.entries[middle]?.position ?? 0) > position) high = middle;
      else low = middle + 1;
    }
    return this.entries.slice(low) as LogEntry[];
  }

  private dropOldest(): void {
    const oldest = this.entries[this.dropped];
    if (!oldest) return;
    this.entries[this.dropped++] = undefined;
    this.bytes -= oldest.size;
    this.begin = oldest.position;
  }
}

/** Metrics of the ring of this replica. */
@Injectable()
export class RingMetrics {
  readonly misses: Counter;

  constructor(private readonly registry: Registry) {
    this.misses = new Counter({
      name: 'stream_ring_misses_total',
      help: 'Reads of the log for events that no message from another replica brought',
      registers: [registry],
    });
  }

  watch(ring: Ring): void {
    gauge(this.registry, 'stream_ring_events', 'Events in the ring', () => ring.count);
    gauge(this.registry, 'stream_ring_begin', 'Number after which the ring begins', () => Math.floor(ring.floor));
    gauge(this.registry, 'stream_ring_end', 'Number of the last event in the ring', () => Math.floor(ring.head));
  }
}
