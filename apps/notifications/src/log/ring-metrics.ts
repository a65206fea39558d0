import { Injectable } from '@nestjs/common';
import { gauge } from '@plant-shop/platform/service/metrics';
import { Counter, Registry } from 'prom-client';
import type { Ring } from './ring.js';

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
