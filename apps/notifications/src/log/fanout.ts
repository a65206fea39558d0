import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { broadcasts } from '@plant-shop/contracts/broker';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { LoggedRange } from '@plant-shop/events/follower';
import { type Listener, Nats } from '@plant-shop/platform/nats';
import { hasWebhooks, NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';

/** What a replica announces: events that it has added to the log, and when they reached notifications. */
export interface Announcement extends Omit<LoggedRange, 'ageMs'> {
  /** Milliseconds since 1970 by identity's clock, which all replicas follow. */
  readonly reachedAt: number;
  /**
   * In the replica that logged the events: whether they need webhook deliveries. On the wire: whether the receivers have to enqueue them,
   * because the sender, which has no webhooks, enqueues none.
   */
  readonly needsDeliveries: boolean;
}

/** Announces to all replicas, of every role, what one of them has logged. */
@Injectable()
export class Fanout implements OnApplicationShutdown {
  private readonly handlers: ((announcement: Announcement) => void)[] = [];
  private messages: Listener | undefined;

  constructor(
    private readonly nats: Nats,
    private readonly revocations: RevocationLog,
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
  ) {}

  onApplicationShutdown(): void {
    this.messages?.stop();
  }

  /** Returns the announcement of events that this replica has just logged. */
  toAnnouncement({ ageMs, ...logged }: LoggedRange, needsDeliveries: boolean): Announcement {
    return { ...logged, reachedAt: this.revocations.identityTime() - ageMs, needsDeliveries };
  }

  /** Adds a function to call for every message of another replica: this one's do not come back (`noEcho` in libs/platform). */
  onLoggedElsewhere(handle: (announcement: Announcement) => void): void {
    this.handlers.push(handle);
    this.messages ??= this.nats.listen(broadcasts.fanout.subject, (message) => this.receive(message.json<Announcement>()));
  }

  publish(announcement: Announcement): void {
    const message: Announcement = { ...announcement, needsDeliveries: announcement.needsDeliveries && !hasWebhooks(this.options.role) };
    this.nats.announce(broadcasts.fanout.subject, message, { ...message, events: undefined });
  }

  private receive(announcement: Announcement): void {
    for (const handle of this.handlers) handle(announcement);
  }
}
