import { Injectable } from '@nestjs/common';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import { unavailable } from '@plant-shop/platform/errors';
import { Database } from '@plant-shop/platform/postgres/database';
import { Connections } from './connections.js';
import { CredentialWatch } from './credential-watch.js';
import { encodeCursor } from './cursor.js';
import { Entry } from './entry.js';
import type { Place } from './history.js';
import { pageEntries, readPage } from './log-pages.js';
import { LogTail } from './log-tail.js';
import { StreamMetrics } from './metrics.js';
import { Permits } from './permits.js';
import type { StreamRequest } from './request.js';
import { StartingPlaces } from './starting-places.js';
import { isFor, seenBy, type Subscription } from './subscription.js';

const maxPageBytes = 1024 * 1024;
const readsAtOnce = 2;

/** Order events as JSON pages, for clients that ask instead of listening; with `wait`, by long poll. */
@Injectable()
export class Pages {
  private readonly reads = new Permits(readsAtOnce);
  private waiting = new Set<() => void>();

  constructor(
    private readonly tail: LogTail,
    private readonly database: Database,
    private readonly places: StartingPlaces,
    private readonly connections: Connections,
    private readonly watch: CredentialWatch,
    private readonly revocations: RevocationLog,
    private readonly metrics: StreamMetrics,
  ) {
    tail.listen({ grown: () => this.wake(), setBack: () => this.wake() });
    connections.onDrain(() => this.wake());
  }

  /**
   * Waits for the first event as long as was asked for, unless the client goes.
   * @returns JSON
   * @throws CodedError
   */
  async read(asked: StreamRequest, requestId: string, client: { readonly isGone: boolean }): Promise<string> {
    this.connections.checkRoom(this.waiting.size);
    const check = (): Promise<Subscription> =>
      this.watch.check(asked.shown, requestId, ({ principal }) => ({ sees: seenBy(principal), filter: asked.filter }));
    let subscription = await check();
    const start = await this.places.of(asked.start ?? 'latest');
    const gap = start.gap && Entry.gap(start.place, this.tail.history, start.gap);
    const end = performance.now() + asked.waitSeconds * 1_000;
    let { place } = start;
    for (;;) {
      const page = await this.readOnce(subscription, place, asked.limit);
      const entries = gap ? [gap, ...page.entries] : page.entries;
      const isOver = entries.length > 0 || client.isGone || this.connections.isDraining;
      if (isOver || (performance.now() >= end && page.place >= this.tail.ring.head)) {
        if (!this.revocations.isFresh) throw unavailable('identity');
        return this.toJson(entries, page.place);
      }
      place = page.place;
      if (place < this.tail.ring.head) continue;
      await this.growth(end);
      // Who asks, and what they may see, may have changed meanwhile.
      subscription = await check();
    }
  }

  private async readOnce(subscription: Subscription, place: Place, limit: number): Promise<{ entries: Entry[]; place: Place }> {
    const { ring, history } = this.tail;
    if (place >= ring.floor) {
      const wanted = ring.after(place).filter((entry) => isFor(subscription, entry));
      return bounded(wanted, limit, ring.head);
    }
    const range = { after: Math.floor(place), end: Math.floor(ring.head), limit };
    const page = await this.reads.run(() => readPage(this.database, subscription, range));
    this.metrics.pagesRead.inc();
    const { entries, place: reached } = pageEntries(page, place, history);
    return bounded(entries, limit, reached);
  }

  /** Resolves when there is more in the ring, at the end of the time, or at once when a drain begins. */
  private async growth(end: number): Promise<void> {
    const left = Math.max(0, end - performance.now());
    this.metrics.connections.inc({ transport: 'page' });
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, left);
      this.waiting.add(done);
    });
    this.metrics.connections.dec({ transport: 'page' });
  }

  private wake(): void {
    for (const done of this.waiting) done();
  }

  private toJson(entries: readonly Entry[], place: Place): string {
    this.metrics.frames.inc({ transport: 'page' }, entries.length);
    const cursor = encodeCursor(this.tail.history.cursorAt(place));
    return `{"events":[${entries.map(({ text }) => text).join()}],"cursor":"${cursor}"}`;
  }
}

/** As many of the entries as a page may hold; `reached` when that is all of them. */
function bounded(entries: Entry[], limit: number, reached: Place): { entries: Entry[]; place: Place } {
  let bytes = 0;
  const end = entries.findIndex((entry, n) => n === limit || (bytes += entry.text.length) > maxPageBytes);
  if (end === -1) return { entries, place: reached };
  const kept = entries.slice(0, Math.max(1, end));
  return { entries: kept, place: kept.at(-1)?.place ?? reached };
}
