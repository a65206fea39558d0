import type { Logger } from '@plant-shop/platform/logging';
import type { Nats } from '@plant-shop/platform/nats';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import type { FeedNudge } from './event.js';
import type { Feed } from './feed.js';

/** Polls as a safety net: whoever commits an event pokes. */
const intervalMs = 500;
/** NATS carries 1 MiB. */
const maxNudgeBytes = 512 * 1024;

/**
 * Numbers events as they come and nudges followers over core NATS with them, or with the head alone when they are too
 * many. A nudge that is lost, late or doubled does no harm: followers pull what they miss.
 */
export class FeedNumberer {
  private readonly loop: BackgroundLoop;

  constructor(
    private readonly feed: Feed,
    private readonly nats: Nats,
    private readonly subject: string,
    private readonly logger: Logger,
  ) {
    this.loop = new BackgroundLoop({ name: 'number feed', intervalMs }, () => this.run(), logger);
  }

  start(): void {
    this.loop.start();
  }

  /** Call after the commit of an event. */
  poke(): void {
    this.loop.poke();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  private async run(): Promise<boolean> {
    const page = await this.feed.number();
    if (page.events.length === 0) return false;
    this.nudge(page);
    return true;
  }

  private nudge(page: FeedNudge): void {
    // While the server is away the client would keep it, and send it late.
    if (!this.nats.isUp) return;
    const full = Buffer.from(JSON.stringify(page));
    const nudge = full.length <= maxNudgeBytes ? full : Buffer.from(JSON.stringify({ ...page, events: [] }));
    try {
      this.nats.connection.publish(this.subject, nudge);
    } catch (error) {
      this.logger.warn({ err: error }, 'nudge not sent');
    }
  }
}
