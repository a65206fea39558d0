import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { feedSubject } from '@plant-shop/contracts/store.feed';
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

/** How long the events of new orders that got no numbers in their transaction wait for those of the next batch. */
const gatherMs = 50;

const timeline: FeedTable = { table: 'order_transitions', subject: 'owner_id', time: 'at' };

/** The feed of order events, over the timeline of orders. */
@Injectable()
export class OrderFeed implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly feed: Feed;
  readonly numberer: FeedNumberer;
  private readonly retention: FeedRetention;
  private gathering: NodeJS.Timeout | undefined;

  constructor(
    database: Database,
    nats: Nats,
    metrics: Registry,
    @Inject(STORE_OPTIONS) options: StoreOptions,
    @InjectLogger() logger: Logger,
  ) {
    this.feed = new Feed(database, timeline);
    this.numberer = new FeedNumberer(this.feed, nats, feedSubject, logger);
    this.retention = new FeedRetention(database, timeline, options.feed, metrics, logger);
  }

  onApplicationBootstrap(): void {
    this.numberer.start();
    this.retention.start();
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.gathering);
    await Promise.all([this.numberer.stop(), this.retention.stop()]);
  }

  /** Call after the commit of an event: it is numbered and announced at once. */
  appended(): void {
    this.numberer.poke();
  }

  /**
   * Call after the commit of new orders. Most have numbers already, and followers take them with what comes next: logging and making
   * deliveries are transactions of their own, and one of each for every batch of orders would cost as much as placing does.
   */
  placed(numbered: FeedNudge | undefined): void {
    if (numbered) this.numberer.nudge({ ...numbered, mayWait: true });
    else this.numberLater();
  }

  private numberLater(): void {
    this.gathering ??= setTimeout(() => {
      this.gathering = undefined;
      this.numberer.poke();
    }, gatherMs);
  }
}
