import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { broadcasts } from '@plant-shop/contracts/broker';
import type { FeedNudge } from '@plant-shop/events/event';
import { Feed, type FeedTable } from '@plant-shop/events/feed';
import { FeedNumberer } from '@plant-shop/events/feed-numberer';
import { FeedRetention } from '@plant-shop/events/feed-retention';
import type { Logger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { Database } from '@plant-shop/platform/postgres/database';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Registry } from 'prom-client';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';

/** Milliseconds before events that their batch could not number are numbered; several batches then share one run. */
const gatherMs = 50;

const orderEvents: FeedTable = { table: 'order_transitions', subject: 'owner_id', time: 'at' };

/** The feed of order events, read from `order_transitions`. */
@Injectable()
export class OrderFeed implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly feed: Feed;
  readonly numberer: FeedNumberer;
  private readonly retention: FeedRetention;
  private announcing: NodeJS.Timeout | undefined;

  constructor(
    database: Database,
    nats: Nats,
    metrics: Registry,
    @Inject(STORE_OPTIONS) options: StoreOptions,
    @InjectLogger() logger: Logger,
  ) {
    this.feed = new Feed(database, orderEvents);
    this.numberer = new FeedNumberer(this.feed, nats, broadcasts.feed.subject, logger);
    this.retention = new FeedRetention(database, orderEvents, options.feed, metrics, logger);
  }

  onApplicationBootstrap(): void {
    this.numberer.start();
    this.retention.start();
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.announcing);
    await Promise.all([this.numberer.stop(), this.retention.stop()]);
  }

  /** Wakes the numberer, which numbers and announces new events. Returns at once. Call it after their transaction has committed. */
  announce(): void {
    this.numberer.poke();
  }

  /**
   * Announces the events of new orders. Call it after their transaction has committed.
   * `mayWait` lets followers defer them (libs/events/src/event.ts): logging and delivering are transactions too, and one of each per batch
   * of orders would cost as much as placing the orders.
   * @param numbered the events that the transaction numbered; undefined: they are numbered within `gatherMs`
   */
  announcePlaced(numbered: FeedNudge | undefined): void {
    if (numbered) this.numberer.nudge({ ...numbered, mayWait: true });
    else this.announceLater();
  }

  private announceLater(): void {
    this.announcing ??= setTimeout(() => {
      this.announcing = undefined;
      this.numberer.poke();
    }, gatherMs);
  }
}
