import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { defaultEventType } from '@plant-shop/contracts/events';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { LoggedRange } from '@plant-shop/events/follower';
import type { Logger } from '@plant-shop/platform/logging';
import { type Listener, Nats } from '@plant-shop/platform/nats';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { hasWebhooks } from '../role.js';

/** Among the replicas of notifications: what was logged, without the events when they are too many. Core NATS: it may be lost. */
const fanoutSubject = 'notifications.fanout';
const maxMessageBytes = 512 * 1024;
/** How every body of this type begins: the store writes the type first. */
const statusChange = `{"event":"${defaultEventType}"`;

/** What was logged, with the time at which it reached notifications. */
export interface LogAdvance extends Omit<LoggedRange, 'ageMs'> {
  /** Milliseconds since the epoch by identity's clock, which all replicas follow. */
  readonly reachedAt: number;
}

/**
 * As it is sent. Replicas of the release before send no `reachedAt`, and make the deliveries of what they log. They would show
 * `events` of every type: where others than status changes are among them, these travel as `mixedEvents`, and they read the log.
 */
type Message = Omit<LogAdvance, 'reachedAt'> & {
  readonly mixedEvents?: LoggedRange['events'];
  readonly reachedAt?: number;
  /** False: the sender makes no webhook deliveries of it. */
  readonly makesDeliveries?: boolean;
};

/** @param needsDeliveries whether the sender makes no webhook deliveries of these events */
export type OnLoggedElsewhere = (advance: LogAdvance, needsDeliveries: boolean) => void;

/** Tells the replicas of what one of them has logged, whatever their roles are. */
@Injectable()
export class Fanout implements OnApplicationShutdown {
  private readonly handlers: OnLoggedElsewhere[] = [];
  /** Sent as the subject for replies, which nobody sends: NATS brings our own messages back, and parsing them costs as much as logging. */
  private readonly id = randomUUID();
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
  advanceOf({ ageMs, ...logged }: LoggedRange): LogAdvance {
    return { ...logged, reachedAt: this.revocations.identityTime() - ageMs };
  }

  /** Calls `handle` for every message of another replica. */
  onLoggedElsewhere(handle: OnLoggedElsewhere): void {
    this.handlers.push(handle);
    this.messages ??= this.nats.listen(fanoutSubject, (message) => {
      if (message.reply !== this.id) this.receive(message.json<Message>());
    });
  }

  publish(advance: LogAdvance): void {
    // The client would keep it and send it after a reconnect, when it is news no longer.
    if (!this.nats.isUp) return;
    const { events = [], ...others } = advance;
    const range: Message = { ...others, makesDeliveries: hasWebhooks(this.options.role) };
    const areMixed = events.some(({ body }) => !body.startsWith(statusChange));
    const message: Message = events.length === 0 ? range : areMixed ? { ...range, mixedEvents: events } : { ...range, events };
    const whole = Buffer.from(JSON.stringify(message));
    try {
      this.nats.connection.publish(fanoutSubject, whole.length <= maxMessageBytes ? whole : JSON.stringify(range), { reply: this.id });
    } catch (error) {
      // They read it from the log.
      this.logger.warn({ err: error }, 'other replicas were not told of events');
    }
  }

  private receive({ makesDeliveries = true, reachedAt = this.revocations.identityTime(), mixedEvents, ...range }: Message): void {
    const logged = mixedEvents ? { ...range, events: mixedEvents } : range;
    for (const handle of this.handlers) handle({ ...logged, reachedAt }, !makesDeliveries);
  }
}
