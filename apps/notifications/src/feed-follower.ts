import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { broadcasts } from '@plant-shop/contracts/broker';
import type { ShopEvent } from '@plant-shop/contracts/events';
import { store } from '@plant-shop/contracts/store';
import type { FeedMessage } from '@plant-shop/events/event';
import type { BodyColumn } from '@plant-shop/events/event-log';
import { Follower, type LoggedRange, type RemoteFeed } from '@plant-shop/events/follower';
import type { Logger } from '@plant-shop/platform/logging';
import { type Listener, Nats } from '@plant-shop/platform/nats';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { gauge } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { Fanout } from './log/fanout.js';
import { skipOrDeferDeliveries, type DeliveryNeeds } from './webhooks/queue/positions.repository.js';

/** This service's name in the store's list of followers. */
const followerName = 'notifications';
const budgetMs = 5_000;

/** Members of an event that clients filter by. Which of them exist depends on its type. */
type FilterMembers = Partial<Record<'orderId' | 'plantId' | 'newStatus', unknown>>;
const dataOf = ({ data }: ShopEvent): FilterMembers => data;

const filterColumns: readonly BodyColumn<ShopEvent>[] = [
  ['event_type', 'text', ({ event }) => event],
  ['order_id', 'bigint', (event) => dataOf(event).orderId],
  ['plant_id', 'bigint', (event) => dataOf(event).plantId],
  ['new_status', 'text', (event) => dataOf(event).newStatus],
];

/** Copies the store's feed into the event log. It runs in every role, so that stream and webhooks do not need replicas of each other. */
@Injectable()
export class FeedFollower implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly follower: Follower<ShopEvent>;
  private messages: Listener | undefined;
  private handleLogged: (logged: LoggedRange, needs: DeliveryNeeds) => void = () => undefined;

  constructor(
    private readonly nats: Nats,
    private readonly rpc: RpcClient,
    database: Database,
    fanout: Fanout,
    metrics: Registry,
    @InjectLogger() logger: Logger,
  ) {
    this.follower = new Follower(
      database,
      {
        feed: this.storeFeed(),
        columns: filterColumns,
        onAdvance: (tx, advance, events) => {
          const needs = skipOrDeferDeliveries(tx, advance, new Set(events.map(({ subject }) => subject)));
          return (logged) => this.handleLogged(logged, needs());
        },
      },
      logger,
    );
    fanout.onLoggedElsewhere((announcement) => this.follower.noteLoggedElsewhere(announcement));
    gauge(metrics, 'notifications_feed_lag', 'Events of the store that are not in the log yet', () => this.follower.lag);
    gauge(metrics, 'notifications_feed_behind_seconds', 'Time since the log had all events that the store was known to have', () => this.follower.lagSeconds);
  }

  /** Replaces the function to call when this replica has added events to the log. */
  onLogged(handle: (logged: LoggedRange, needs: DeliveryNeeds) => void): void {
    this.handleLogged = handle;
  }

  onApplicationBootstrap(): void {
    this.messages = this.nats.listen(broadcasts.feed.subject, (message) => this.follower.receive(message.json<FeedMessage>()));
    this.follower.start();
  }

  onApplicationShutdown(): Promise<void> {
    this.messages?.stop();
    return this.follower.stop();
  }

  private storeFeed(): RemoteFeed {
    const context = (): RpcContext => new RpcContext('feed', Deadline.in(budgetMs));
    return {
      read: ({ seq, id }, limit) =>
        this.rpc.call(
          store.feedRead,
          { follower: followerName, after: seq, ...(id !== undefined && { afterId: id }), limit },
          context(),
        ),
      startEpoch: (known, agreed) => this.rpc.call(store.startEpoch, { known, agreed }, context()),
    };
  }
}
