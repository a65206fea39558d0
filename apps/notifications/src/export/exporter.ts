import { Inject, Injectable } from '@nestjs/common';
import { Cipher } from '@plant-shop/platform/cipher';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Counter, Registry } from 'prom-client';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { QueueClock } from '../webhooks/queue/queue-clock.js';
import type { Broker } from './broker.js';
import { BrokerGuard } from './broker-guard.js';
import { claimDestinations, type DestinationRow } from './destinations.repository.js';
import { credentialsPurpose } from './destination.js';
import { ExportRun, leaseMs } from './export-run.js';
import { openJetStream } from './jetstream.js';

/** How often free destinations are looked for. */
const intervalMs = 1_000;

/** Publishes events to destinations. Any number of replicas share them; one at a time has a destination. */
@Injectable()
export class Exporter extends BackgroundLoop {
  private readonly runs = new Map<string, { readonly run: ExportRun; readonly ended: Promise<void> }>();
  /** The file of brokers' CAs. */
  private readonly ca: string;
  private readonly published: Counter<'destination' | 'result'>;

  constructor(
    private readonly database: Database,
    private readonly clock: QueueClock,
    private readonly cipher: Cipher,
    private readonly guard: BrokerGuard,
    @Inject(NOTIFICATIONS_OPTIONS) { destinations }: NotificationsOptions,
    metrics: Registry,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'lease destinations', intervalMs, isTraced: false }, () => this.claim(), logger);
    this.ca = destinations.ca;
    this.published = new Counter({
      name: 'destination_events_total',
      help: 'Events that brokers have acknowledged; duplicate: they had them already',
      labelNames: ['destination', 'result'],
      registers: [metrics],
    });
  }

  /** There are new events in the log. */
  announce(): void {
    for (const { run } of this.runs.values()) run.notify();
  }

  override async stop(): Promise<void> {
    await super.stop();
    await this.endRuns();
  }

  /** Ends leases after the present batch of each destination. */
  async endRuns(): Promise<void> {
    const runs = [...this.runs.values()];
    for (const { run } of runs) run.end();
    await Promise.all(runs.map(({ ended }) => ended));
  }

  private async claim(): Promise<boolean> {
    const lease = crypto.randomUUID();
    const leasedAt = performance.now();
    const claimed = await this.clock.transaction((tx) => claimDestinations(tx, lease, leaseMs));
    for (const destination of claimed) this.begin(destination, lease, leasedAt);
    return false;
  }

  private begin(destination: DestinationRow, lease: string, leasedAt: number): void {
    const { id } = destination;
    const { database, clock, logger } = this;
    const onPublished = (count: number, duplicates: number): void => {
      this.published.inc({ destination: id, result: 'stored' }, Math.max(0, count - duplicates));
      this.published.inc({ destination: id, result: 'duplicate' }, duplicates);
    };
    const run = new ExportRun(destination, lease, leasedAt, { database, clock, logger, onPublished, open: (one) => this.open(one) });
    const ended = run
      .run()
      // Such as a lost database. Its lease ends by itself.
      .catch((error: unknown) => logger.warn({ err: error, destination: id }, 'publishing to a destination failed, trying again'))
      .finally(() => {
        if (this.runs.get(id)?.run === run) this.runs.delete(id);
      });
    this.runs.set(id, { run, ended });
  }

  private async open({ id, url, stream, subject, encrypted, mark }: DestinationRow): Promise<Broker> {
    const addresses = await this.guard.addressesOf(url);
    const credentials = encrypted ? (JSON.parse(this.cipher.decrypt(encrypted, credentialsPurpose(id))) as object) : undefined;
    return openJetStream({ url: new URL(url), addresses, ca: this.ca, stream, subject, credentials }, mark ?? undefined);
  }
}
