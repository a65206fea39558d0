import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown, Optional, type Provider } from '@nestjs/common';
import { broadcasts } from '@plant-shop/contracts/broker';
import type { ShopEvent } from '@plant-shop/contracts/events';
import { store } from '@plant-shop/contracts/store';
import type { FeedMessage } from '@plant-shop/events/feed';
import type { BodyColumn } from '@plant-shop/events/event-log';
import { Follower, type LoggedRange, type RemoteFeed } from '@plant-shop/events/follower';
import { LogRetention, type LowestNeeded } from '@plant-shop/events/log-retention';
import type { Logger } from '@plant-shop/platform/logging';
import { type Listener, Nats } from '@plant-shop/platform/nats';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { gauge } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { eventsNotPublished } from './export/destinations.repository.js';
import { Exporter } from './export/exporter.js';
import { Fanout } from './log/fanout.js';
import { LogTail } from './log/log-tail.js';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from './options.js';
import { Broadcaster } from './stream/broadcast/broadcaster.js';
import { CatchUp } from './stream/broadcast/catch-up.js';
import { Connections } from './stream/subscribers/connections.js';
import { Pages } from './stream/transport/pages.js';
import { AllOrdersEnqueuer, OwnOrdersEnqueuer } from './webhooks/queue/enqueuers.js';
import { DueSignal } from './webhooks/queue/due-signal.js';
import { type DeliveryNeeds, findLowestEnqueuedUpTo, skipOrDeferDeliveries } from './webhooks/queue/positions.repository.js';
import { DeliveryWorker } from './webhooks/sending/delivery-worker.js';

// The path of one event:
//
//   store ── message, feed page ──> FeedFollower ── transaction ──> event_log
//                                      │
//                                      v
//                                  EventFlow ──────> OwnOrdersEnqueuer.notify, AllOrdersEnqueuer.notify
//                                      │                             │ webhook_deliveries
//                                      v                             │ DueSignal
//   other replicas <── Fanout <── LogTail.takeLogged                 v
//                                      │ ring                  DeliveryWorker ──> WebhookSender ──> receivers
//                                      │ onEntries
//                                      v
//                              Broadcaster, Pages
//                                      │ FrameSender; Pages answer by themselves
//                                      v
//                                   clients
//
// The arrows only save time; what is committed in Postgres decides. FeedFollower copies pages of the feed into event_log, each in one
// transaction with its position, and reads on when no message comes. Enqueuers read event_log from positions of their own, every 2 s at the
// latest, and write deliveries and position in one transaction. DeliveryWorker claims due deliveries by a lease and POSTs them, signed
// (`signedHeaders`); those of one endpoint and order in their order. One without a recorded outcome becomes due again when its lease ends, and one whose
// attempt failed after a pause, for three days: each is sent at least once. LogTail reads on from the end of its ring. `isVisibleTo` decides which streams show an event (the SQL of enqueuers and
// long reads says the same), `frameOf` what it looks like; a client that comes back resumes with its cursor. `DeliveryNeeds` says for which kinds of endpoint there is something to enqueue.
//
// LogTail publishes events to Fanout once its ring has them: at once, or after a read of the log. A replica without a stream has no
// LogTail; EventFlow then publishes them. In another replica, Fanout passes them to FeedFollower and LogTail, and to EventFlow if their
// deliveries are not enqueued yet. CatchUp brings a client that is behind to the end of the log, where the broadcaster takes over.
//
// Mails are apart from this: `OrderMails` polls event_log with a watermark of its own, `MailWorker` the mails that are due. `Exporter` publishes
// pages of event_log to each destination, from the position in its row.
//
// The folders `stream` and `webhooks` do not import each other, and `log` imports neither: this file connects them. Other parts call
// each other, or register with each other at the start: `FeedFollower` and `LogTail` with `Fanout`, `Connections` with
// `CredentialWatch` and `FrameSender`, `Pages` with `Connections`.

/** Connects the parts of this replica. Parts that its role does not have are undefined. */
@Injectable()
class EventFlow implements OnApplicationBootstrap {
  constructor(
    private readonly fanout: Fanout,
    @Optional() @Inject(LogTail) private readonly tail?: LogTail,
    @Optional() @Inject(Broadcaster) broadcaster?: Broadcaster,
    @Optional() @Inject(CatchUp) catchUp?: CatchUp,
    @Optional() @Inject(Connections) connections?: Connections,
    @Optional() @Inject(Pages) pages?: Pages,
    @Optional() @Inject(OwnOrdersEnqueuer) private readonly ownOrders?: OwnOrdersEnqueuer,
    @Optional() @Inject(AllOrdersEnqueuer) private readonly allOrders?: AllOrdersEnqueuer,
    @Optional() @Inject(DueSignal) due?: DueSignal,
    @Optional() @Inject(DeliveryWorker) worker?: DeliveryWorker,
    @Optional() @Inject(Exporter) private readonly exporter?: Exporter,
  ) {
    tail?.onEntries(() => {
      broadcaster?.notify();
      pages?.notify();
    });
    tail?.onRewind(() => {
      broadcaster?.reset();
      connections?.closeAll();
      pages?.notify();
    });
    broadcaster?.onTooFarBehind((connection) => catchUp?.begin(connection, connection.position));
    due?.onNotified(() => worker?.notify());
  }

  /**
   * Subscribes replicas with webhooks to events logged by a replica of the stream, which enqueues no deliveries, and replicas that publish
   * to destinations to all events. Missed messages are found by polling.
   */
  onApplicationBootstrap(): void {
    const { exporter } = this;
    if (exporter) this.fanout.onLoggedElsewhere(() => exporter.announce());
    if (!this.ownOrders) return;
    this.fanout.onLoggedElsewhere(({ needsDeliveries }) => {
      if (needsDeliveries) this.enqueueDeliveries({ own: true, all: true });
    });
  }

  /** Passes on what this replica has just logged. */
  pass(logged: LoggedRange, needs: DeliveryNeeds): void {
    this.exporter?.announce();
    this.enqueueDeliveries(needs);
    const announcement = this.fanout.toAnnouncement(logged, needs.own || needs.all);
    if (this.tail) this.tail.takeLogged(announcement);
    else this.fanout.publish(announcement);
  }

  private enqueueDeliveries({ own, all }: DeliveryNeeds): void {
    if (own) this.ownOrders?.notify();
    if (all) this.allOrders?.notify();
  }
}

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

  constructor(
    private readonly nats: Nats,
    private readonly rpc: RpcClient,
    database: Database,
    flow: EventFlow,
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
          return (logged) => flow.pass(logged, needs());
        },
      },
      logger,
    );
    fanout.onLoggedElsewhere((announcement) => this.follower.noteLoggedElsewhere(announcement));
    gauge(metrics, 'notifications_feed_lag', 'Events of the store that are not in the log yet', () => this.follower.lag);
    gauge(metrics, 'notifications_feed_behind_seconds', 'Time since the log had all events that the store was known to have', () => this.follower.lagSeconds);
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

/** Keeps retention from deleting events whose deliveries are not enqueued yet. */
export const eventsWithoutDeliveries: LowestNeeded = async (tx) => {
  const enqueued = await findLowestEnqueuedUpTo(tx);
  return enqueued === undefined ? undefined : enqueued + 1;
};

/** The parts of every replica, of any role. */
export const logProviders = (logger: Logger): Provider[] => [
  Fanout,
  EventFlow,
  FeedFollower,
  {
    provide: LogRetention,
    inject: [Database, Registry, NOTIFICATIONS_OPTIONS],
    useFactory: (database: Database, metrics: Registry, { eventLog: { keepMs } }: NotificationsOptions) =>
      new LogRetention(database, { keepMs, needs: [eventsWithoutDeliveries, eventsNotPublished] }, metrics, logger),
  },
];
