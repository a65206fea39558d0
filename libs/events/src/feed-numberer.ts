import type { Logger } from '@plant-shop/platform/logging';
import type { Nats } from '@plant-shop/platform/nats';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import type { FeedNudge } from './event.js';
import { type Feed, maxNumberedPerRun } from './feed.js';

/** Polls as a safety net: whoever has committed an event pokes. */
const intervalMs = 500;
/** NATS carries 1 MiB. */
const maxNudgeBytes = 512 * 1024;

/**
 * Numbers events as they come and nudges followers over core NATS with them, or with the head alone when they are too
 * many. A nudge that is lost, late or doubled does no harm: followers pull what they miss.
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
        // Whatever was committed since has poked.
        return nudge?.events.length === maxNumberedPerRun;
      },
      logger,
    );
  }

  /** Tells followers of events that have numbers now. */
  nudge(nudge: FeedNudge): void {
    // While the server is away the client would keep it, and send it late.
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
