import { Injectable } from '@nestjs/common';
import { gauge } from '@plant-shop/platform/service/metrics';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Metrics of the stream, except those of the ring. */
@Injectable()
export class StreamMetrics {
  readonly connections: Gauge<'transport'>;
  /** Events and gap notices sent, by transport. Plain numbers: incrementing a labelled counter for each frame is too expensive. */
  readonly sent = { websocket: 0, sse: 0, page: 0 };
  readonly closes: Counter<'code'>;
  readonly refusals: Counter<'code'>;
  readonly pagesRead: Counter;
  readonly lag: Histogram;
  readonly sendLag: Histogram;
  readonly isSuspended: Gauge;

  constructor(private readonly registry: Registry) {
    const registers = [registry];
    this.connections = new Gauge({
      name: 'stream_connections',
      help: 'Open connections of the event stream',
      labelNames: ['transport'],
      registers,
    });
    // An autoscaler counts a replica without a value as one at its target, so the values start at 0.
    for (const transport of ['websocket', 'sse', 'page']) this.connections.set({ transport }, 0);
    const { sent } = this;
    new Counter({
      name: 'stream_frames_total',
      help: 'Events and gaps sent',
      labelNames: ['transport'],
      registers,
      collect() {
        this.reset();
        for (const [transport, count] of Object.entries(sent)) this.inc({ transport }, count);
      },
    });
    this.closes = new Counter({
      name: 'stream_closes_total',
      help: 'Connections ended, by close code; 4101 are slow clients',
      labelNames: ['code'],
      registers,
    });
    this.refusals = new Counter({
      name: 'stream_refusals_total',
      help: 'Refused requests, by problem code',
      labelNames: ['code'],
      registers,
    });
    this.pagesRead = new Counter({
      name: 'stream_pages_read_total',
      help: 'Pages of the log read for clients that resume before the ring begins',
      registers,
    });
    const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
    this.lag = new Histogram({ name: 'stream_lag_seconds', help: 'From the change of an order to its frame being written', buckets, registers });
    this.sendLag = new Histogram({
      name: 'stream_send_lag_seconds',
      help: 'From an event reaching notifications to its frame being written, without the time that the store took',
      buckets,
      registers,
    });
    this.isSuspended = new Gauge({
      name: 'stream_held',
      help: '1 while nothing is sent because revocations cannot be followed',
      registers,
    });
  }

  watchCapacity(isFull: () => boolean, limit: number): void {
    gauge(this.registry, 'stream_full', '1 while the replica asks for no more clients', () => (isFull() ? 1 : 0));
    gauge(this.registry, 'stream_connections_limit', 'Maximum number of connections of the replica', () => limit);
  }
}
