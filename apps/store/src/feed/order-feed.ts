import { Controller, Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { broadcasts } from '@plant-shop/contracts/broker';
import { store } from '@plant-shop/contracts/store';
import type { FeedHead, FeedPage, ReadFeed, StartEpoch } from '@plant-shop/contracts/store.feed';
import { Feed, type FeedMessage, FeedNumberer, type FeedTable } from '@plant-shop/events/feed';
import { FeedRetention } from '@plant-shop/events/feed-retention';
import type { Logger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { Database } from '@plant-shop/platform/postgres/database';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Registry } from 'prom-client';
import { STORE_OPTIONS, type StoreOptions } from '../config.js';

/** Milliseconds before events that their batch could not number are numbered; several batches then share one run. */
const gatherMs = 50;

const orderEvents: FeedTable = {
  table: 'order_transitions',
  subject: 'owner_id',
  time: 'at',
  // Its next number is beyond those that are counted (orders/order-counts.ts).
  whenCleared: 'counted = CASE WHEN counted OR feed_seq <= (SELECT counted FROM order_counts_head FOR UPDATE) THEN true END',
};

/** The feed of order events, read from `order_transitions`. */
@Injectable()
export class OrderFeed implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly feed: Feed;
  readonly numberer: FeedNumberer;
  private readonly retention: FeedRetention;
  private pendingNotification: NodeJS.Timeout | undefined;

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
    clearTimeout(this.pendingNotification);
    await Promise.all([this.numberer.stop(), this.retention.stop()]);
  }

  /** Notifies the numberer, which numbers and publishes new events. Returns at once. Call it after their transaction has committed. */
  notify(): void {
    this.numberer.notify();
  }

  /** Publishes events after their transaction has committed. @param numbered those that it has numbered; undefined: they are numbered first */
  publish(numbered: FeedMessage | undefined): void {
    if (numbered) this.numberer.publish(numbered);
    else this.notify();
  }

  /**
   * Publishes the events of new orders. Call it after their transaction has committed.
   * `mayWait` lets followers defer them (libs/events/src/feed.ts): logging and delivering are transactions too, and one of each per batch
   * of orders would cost as much as placing the orders.
   * @param numbered the events that the transaction numbered; undefined: they are numbered, or announced, within `gatherMs`
   */
  publishPlaced(numbered: FeedMessage | undefined): void {
    if (numbered) this.numberer.publish({ ...numbered, mayWait: true });
    else this.notifyLater();
  }

  private notifyLater(): void {
    this.pendingNotification ??= setTimeout(() => {
      this.pendingNotification = undefined;
      this.numberer.notify();
    }, gatherMs);
  }
}

@Controller()
export class FeedController {
  constructor(private readonly orders: OrderFeed) {}

  @Answers(store.feedRead)
  feedRead({ follower, after, afterId, limit }: ReadFeed): Promise<FeedPage> {
    return this.orders.feed.readFor(follower, { seq: after, ...(afterId !== undefined && { id: afterId }) }, limit);
  }

  @Answers(store.startEpoch)
  startEpoch({ known, agreed }: StartEpoch): Promise<FeedHead> {
    return this.orders.feed.startEpoch(known, agreed);
  }
}
