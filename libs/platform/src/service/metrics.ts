import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { PoolUse } from '../postgres/database.js';

/**
 * Interval of event loop delay measurements, in milliseconds. The default of 10 ms took an idle process half a percent of a core. A
 * longer interval also gives long delays more weight in the percentiles, since each counts as one measurement.
 */
const eventLoopMonitoringPrecision = 100;

/** Creates the metrics registry of a process. The operations port serves it in Prometheus' text format. */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  return registry;
}

/** Registers the histogram of call durations by operation and outcome code, in seconds. */
export function operationDurations(registry: Registry): Histogram<'operation' | 'code'> {
  return new Histogram({
    name: 'rpc_operation_duration_seconds',
    help: 'Time from reading a call to having its answer ready',
    labelNames: ['operation', 'code'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
}

/** Registers a histogram of batch sizes. @returns a function that records one size */
export function sizeHistogram(registry: Registry, name: string, help: string): (count: number) => void {
  const histogram = new Histogram({ name, help, buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], registers: [registry] });
  return (count) => histogram.observe(count);
}

/** Registers the metrics of the database pool. */
export function poolUse(registry: Registry, read: () => PoolUse): void {
  new Gauge({
    name: 'db_pool_connections',
    help: 'Connections to the database by state; waiting: callers that wait for one',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { busy, idle, waiting } = read();
      this.set({ state: 'busy' }, busy);
      this.set({ state: 'idle' }, idle);
      this.set({ state: 'waiting' }, waiting);
    },
  });
  gauge(registry, 'db_pool_size', 'Connections to the database that the pool opens at most', () => read().size);
  new Counter({
    name: 'db_connections_stalled_total',
    help: 'Connections to the database that were half-open and were dropped',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read().stalled);
    },
  });
}

/**
 * Registers a counter by one label.
 * @param first values that are counted from 0 at the start: an alert does not see the increase to 1 of a value that was not there
 * @returns a function that counts one
 */
export function counter(registry: Registry, name: string, help: string, label: string, first: readonly string[] = []): (value: string) => void {
  const all = new Counter({ name, help, labelNames: [label], registers: [registry] });
  for (const value of first) all.inc({ [label]: value }, 0);
  return (value) => all.inc({ [label]: value });
}

/** Registers a gauge whose value is read at each scrape. */
export function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

/** Registers the gauge of the clock skew of each calling service. */
export function peerClockSkew(registry: Registry, read: () => ReadonlyMap<string, number>): void {
  new Gauge({
    name: 'rpc_peer_clock_skew_seconds',
    help: "A calling service's time of day minus ours: of its processes the one that differs most; positive: it is ahead",
    labelNames: ['peer'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [peer, skewMs] of read()) this.set({ peer }, skewMs / 1e3);
    },
  });
}
