import { Inject, Injectable } from '@nestjs/common';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import { unavailable } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { newestNumbers, readHistory, readTail } from './event-log.repository.js';
import { type Announcement, Fanout } from './fanout.js';
import { History } from './history.js';
import { LogEntry, type LoggedEvent } from './log-entry.js';
import { Ring, RingMetrics } from './ring.js';

const pageSize = 1_000;
/** How often the log is read without an announcement. */
const pollMs = 1_000;
const maxRingBytes = 32 * 1024 * 1024;

/**
 * Keeps the ring equal to the end of the log, on every replica with the stream. The replica that adds events announces them to the others;
 * one that misses a message reads the log within a second. The ring never holds anything beyond the watermark.
 */
@Injectable()
export class LogTail extends BackgroundLoop {
  readonly ring: Ring;
  private readonly maxEntries: number;
  private known: History | undefined;
  /** The last number that this replica has added to the log; what the ring lacks of it is still to be published. */
  private loggedUpTo = 0;
  /** When the first unpublished event reached notifications. */
  private unpublishedSince = Infinity;
  /** Whether the end of the log was reached once. From then on a read that finds events counts as a missed message. */
  private isFollowing = false;
  private handleEntries: () => void = () => undefined;
  private handleRewind: () => void = () => undefined;

  constructor(
    private readonly fanout: Fanout,
    private readonly revocations: RevocationLog,
    private readonly database: Database,
    private readonly metrics: RingMetrics,
    @Inject(NOTIFICATIONS_OPTIONS) options: NotificationsOptions,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'read the end of the log', intervalMs: pollMs }, () => this.read(), logger);
    this.maxEntries = options.stream.ringEvents;
    this.ring = new Ring({ maxEntries: this.maxEntries, maxBytes: maxRingBytes });
    metrics.watch(this.ring);
  }

  /** Replaces the function to call when entries were appended to the ring. */
  onEntries(handle: () => void): void {
    this.handleEntries = handle;
  }

  /** Replaces the function to call when the log lacks entries that were already handed on. The ring is empty then, and filled again by the reads that follow. */
  onRewind(handle: () => void): void {
    this.handleRewind = handle;
  }

  /** Reads the log before the service is up, so that clients can be served at once. */
  override async onApplicationBootstrap(): Promise<void> {
    await this.readToEnd();
    this.fanout.onLoggedElsewhere((announcement) => this.takeOrRead(announcement));
    this.start();
  }

  /** Throws `unavailable` before the first read of the log. */
  get history(): History {
    if (!this.known) throw unavailable('The event log');
    return this.known;
  }

  /** Takes events that this replica has added to the log, and publishes them to the others. */
  takeLogged(announcement: Announcement): void {
    if (this.take(announcement)) {
      this.fanout.publish(announcement);
    } else {
      this.loggedUpTo = announcement.upTo;
      this.unpublishedSince = Math.min(this.unpublishedSince, announcement.reachedAt);
      this.notify();
    }
  }

  /** Reads the log to its end now, for a client whose cursor is ahead of the ring. */
  async readToEnd(): Promise<void> {
    while (await this.read());
    this.known = await readHistory(this.database);
  }

  /**
   * Reads a page of the log into the ring, and publishes events of this replica that the ring could not take before. Loads the ring at
   * the start and after a restore of the log, and the history when it has changed.
   * @returns whether there is more to read at once
   */
  private async read(): Promise<boolean> {
    const history = this.known ?? (await this.load());
    const from = this.ring.head;
    const page = await readTail(this.database, from, pageSize);
    if (page.watermark < from) {
      await this.rewind(from, page.watermark);
      return true;
    }
    const isDense = page.events.length === page.upTo - from;
    const epoch = page.epoch ?? history.epoch;
    if (!isDense || epoch !== history.epoch) {
      this.known = await readHistory(this.database);
      if (this.known.hasLost(history.cursorAt(from))) {
        await this.rewind(from, page.watermark);
        return true;
      }
    }
    if (page.events.length > 0) tracing?.causedBy(page.events.map((one) => one.traceparent));
    if (page.upTo > this.ring.head) {
      if (this.isFollowing && this.loggedUpTo < page.upTo) this.metrics.misses.inc();
      this.extend(page.events, page.upTo, Math.min(this.revocations.identityTime() - page.ageMs, this.unpublishedSince));
    }
    this.publishPending({ epoch, after: from, upTo: page.upTo, ...(isDense && { events: page.events }) });
    this.isFollowing ||= page.upTo === page.watermark;
    return page.upTo < page.watermark;
  }

  /** Publishes a range that was read, if this replica has added events of it and could not announce them at once. */
  private publishPending(range: Omit<Announcement, 'reachedAt' | 'needsDeliveries'>): void {
    // Whether they need deliveries is no longer known. A replica that looks in vain loses only the query.
    if (this.loggedUpTo > range.after) this.fanout.publish({ ...range, reachedAt: this.unpublishedSince, needsDeliveries: true });
    if (range.upTo >= this.loggedUpTo) this.unpublishedSince = Infinity;
  }

  /** Places the ring's beginning, which the next reads fill before the first request: after a restart, all clients resume at once. */
  private async load(): Promise<History> {
    this.ring.restart(await newestNumbers(this.database, this.maxEntries));
    return (this.known = await readHistory(this.database));
  }

  private takeOrRead(announcement: Announcement): void {
    if (!this.take(announcement)) this.notify();
  }

  /**
   * Returns whether the ring has all of the announced events now. False: read the log (no events, a hole before them, another epoch, or
   * not loaded).
   */
  private take({ epoch, after, upTo, events, reachedAt }: Announcement): boolean {
    const { head } = this.ring;
    if (upTo <= head) return true;
    if (!events || after > head || epoch !== this.known?.epoch) return false;
    this.extend(events, upTo, reachedAt);
    return true;
  }

  private extend(events: readonly LoggedEvent[], upTo: number, reachedAt: number): void {
    const { head } = this.ring;
    const { history } = this;
    // Messages and reads of the log overlap: skip what the ring already has.
    const entries = events.filter(({ seq }) => seq > head).map((event) => LogEntry.ofEvent(event, history, reachedAt));
    const breaks = history.between(head, upTo).map((one) => LogEntry.ofBreak(one, history));
    this.ring.append([...entries, ...breaks].sort((a, b) => a.position - b.position), upTo);
    this.handleEntries();
  }

  private async rewind(head: number, watermark: number): Promise<void> {
    this.logger.error({ head, watermark }, 'the event log lacks events that were already streamed: it was restored from a backup, or failed over');
    // Drop what was to be published: events that are added again are announced anew.
    this.loggedUpTo = 0;
    this.unpublishedSince = Infinity;
    // Load first: disconnected clients reconnect at once.
    await this.load();
    this.handleRewind();
  }
}
