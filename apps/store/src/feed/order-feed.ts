import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { feedSubject } from '@plant-shop/contracts/store';
import { Feed } from '@plant-shop/events/feed';
import { FeedNumberer } from '@plant-shop/events/feed-numberer';
import type { Logger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { Database } from '@plant-shop/platform/postgres/database';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';

/** The feed of order events, over the timeline of orders. */
@Injectable()
export class OrderFeed implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly feed: Feed;
  private readonly numberer: FeedNumberer;

  constructor(database: Database, nats: Nats, @InjectLogger() logger: Logger) {
    this.feed = new Feed(database, { table: 'order_transitions', subject: 'owner_id' });
    this.numberer = new FeedNumberer(this.feed, nats, feedSubject, logger);
  }

  onApplicationBootstrap(): void {
    this.numberer.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.numberer.stop();
  }

  /** Call after the commit of a move: its event is numbered and announced at once. */
  moved(): void {
    this.numberer.poke();
  }
}
