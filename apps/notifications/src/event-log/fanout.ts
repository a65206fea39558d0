import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { Logged } from '@plant-shop/events/follower';
import type { Logger } from '@plant-shop/platform/logging';
import { type Listener, Nats } from '@plant-shop/platform/nats';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { hasWebhooks } from '../role.js';

/** Among the replicas of notifications: what was logged, without the events when they are too many. Core NATS: it may be lost. */
const fanoutSubject = 'notifications.fanout';
const maxMessageBytes = 512 * 1024;

/** What was logged, with the time at which it reached notifications. */
export interface Reached extends Omit<Logged, 'ageMs'> {
  /** Milliseconds since the epoch by identity's clock, which all replicas follow. */
  readonly reachedAt: number;
}

/** As it is sent. Replicas of the release before send no `reachedAt`, and make the deliveries of what they log. */
type Message = Omit<Reached, 'reachedAt'> & {
  readonly reachedAt?: number;
  /** False: the sender makes no webhook deliveries of it. */
  readonly makesDeliveries?: boolean;
};

export type Hear = (reached: Reached, isOthersToDeliver: boolean) => void;

/** Tells the replicas of what one of them has logged, whatever their roles are. */
@Injectable()
export class Fanout implements OnApplicationShutdown {
  private readonly hearers: Hear[] = [];
  private messages: Listener | undefined;

  constructor(
    private readonly nats: Nats,
    private readonly revocations: RevocationLog,
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  onApplicationShutdown(): void {
    this.messages?.stop();
  }

  /** What this replica has just logged itself. */
  ownReached({ ageMs, ...logged }: Logged): Reached {
    return { ...logged, reachedAt: this.revocations.identityTime() - ageMs };
  }

  hear(hear: Hear): void {
    this.hearers.push(hear);
    this.messages ??= this.nats.listen(fanoutSubject, (message) => this.took(message.json<Message>()));
  }

  tellOthers(reached: Reached): void {
    // The client would keep it and send it after a reconnect, when it is news no longer.
    if (!this.nats.isUp) return;
    const { events, ...range } = { ...reached, makesDeliveries: hasWebhooks(this.options.role) } satisfies Message;
    const whole = Buffer.from(JSON.stringify({ ...range, events }));
    try {
      this.nats.connection.publish(fanoutSubject, whole.length <= maxMessageBytes ? whole : JSON.stringify(range));
    } catch (error) {
      // They read it from the log.
      this.logger.warn({ err: error }, 'other replicas were not told of events');
    }
  }

  private took({ makesDeliveries = true, reachedAt = this.revocations.identityTime(), ...logged }: Message): void {
    for (const hear of this.hearers) hear({ ...logged, reachedAt }, !makesDeliveries);
  }
}
