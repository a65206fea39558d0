import type { Logger } from '@plant-shop/platform/logging';
import type { Nats } from '@plant-shop/platform/nats';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import type { FeedNudge } from './event.js';
import { type Feed, maxNumberedPerRun } from './feed.js';

/** Polling is a safety net: services poke after each commit of an event. */
const intervalMs = 500;
/** NATS messages are limited to 1 MiB. */
const maxNudgeBytes = 512 * 1024;

/**
 * Numbers new events and nudges followers over core NATS: with the events, or with the head alone when they are too
 * large for a message. Lost, late and duplicate nudges are harmless, since followers pull what they miss.
 */
export class FeedNumberer extends BackgroundLoop {
  constructor(
    feed: Feed,
    private readonly nats: Nats,
    private readonly subject: string,
    logger: Logger,
  ) {
    let epoch: string | undefined;
    super(
      { name: 'number feed', intervalMs },
      async () => {
        const nudge = await feed.number();
        if (nudge) this.nudge(nudge);
        if (nudge && epoch !== undefined && nudge.epoch !== epoch) {
          logger.warn({ epoch: nudge.epoch, head: nudge.head }, 'the feed began a new epoch: the database was failed over or restored');
        }
        epoch = nudge?.epoch ?? epoch;
        // Events committed after this run's snapshot have poked the loop of their replica.
        return nudge?.events.length === maxNumberedPerRun;
      },
      logger,
    );
  }

  /** Publishes newly numbered events to followers. */
  nudge(nudge: FeedNudge): void {
    // While the server is down, the NATS client would buffer the nudge and send it late.
    if (!this.nats.isUp) return;
    const full = Buffer.from(JSON.stringify(nudge));
    const bytes = full.length <= maxNudgeBytes ? full : Buffer.from(JSON.stringify({ ...nudge, events: [] }));
    try {
      this.nats.connection.publish(this.subject, bytes);
    } catch (error) {
      this.logger.warn({ err: error }, 'nudge not sent');
    }
  }
}
