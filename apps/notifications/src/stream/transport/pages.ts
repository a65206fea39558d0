import { Injectable } from '@nestjs/common';
import type { Authentication } from '@plant-shop/credentials/authentication';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import { Database } from '@plant-shop/platform/postgres/database';
import { Semaphore } from '@plant-shop/platform/patterns/semaphore';
import { encodeCursor, type Position } from '../../log/history.js';
import { pageEntries, readPage } from '../../log/event-log.repository.js';
import { LogEntry } from '../../log/log-entry.js';
import { LogTail } from '../../log/log-tail.js';
import { assertMaySee, isVisibleTo, visibilityOf, type Subscription } from '../../log/subscription.js';
import { Connections } from '../subscribers/connections.js';
import { CredentialWatch } from '../subscribers/credential-watch.js';
import { StreamMetrics } from '../metrics.js';
import type { StreamRequest } from '../request.js';
import { StartingPositions } from '../subscribers/starting-positions.js';

const maxPageBytes = 1024 * 1024;
const readsAtOnce = 2;

/** What a client may see, and the revocations that were known before its credentials were checked. */
interface Checked {
  readonly subscription: Subscription;
  readonly checkedAt: string;
}

/** Serves order events as JSON pages, with `wait` by long poll. */
@Injectable()
export class Pages {
  private readonly reads = new Semaphore(readsAtOnce);
  private waiting = new Set<() => void>();

  constructor(
    private readonly tail: LogTail,
    private readonly database: Database,
    private readonly positions: StartingPositions,
    private readonly connections: Connections,
    private readonly watch: CredentialWatch,
    private readonly revocations: RevocationLog,
    private readonly metrics: StreamMetrics,
  ) {
    connections.onDrain(() => this.notify());
  }

  /**
   * Returns a page as JSON. Waits up to `waitSeconds` for the first event, unless the client disconnects or a drain begins. A request
   * that may wait counts as a connection until it is answered.
   * @param gone aborted when the client has disconnected
   * @param known called when the client's credentials were checked
   * @throws CodedError when the client is refused
   */
  async read(asked: StreamRequest, requestId: string, gone: AbortSignal, known: () => void): Promise<string> {
    this.connections.checkRoom();
    if (asked.waitSeconds === 0) return this.readChecked(asked, await this.check(asked, requestId, known), requestId, gone);
    let leave: (() => void) | undefined;
    try {
      const checked = await this.check(asked, requestId, (authentication) => {
        leave = this.connections.registerPoll(authentication);
        known();
      });
      return await this.readChecked(asked, checked, requestId, gone);
    } finally {
      leave?.();
    }
  }

  /** @param take called with the result, in the same turn of the event loop as the last check */
  private async check(
    { credentials, filter }: StreamRequest,
    requestId: string,
    take?: (authentication: Authentication) => void,
  ): Promise<Checked> {
    const checkedAt = this.knownRevocations;
    return this.watch.check(credentials, filter.types, requestId, (authentication) => {
      assertMaySee(filter.types.types, authentication.principal);
      take?.(authentication);
      return { subscription: { visibility: visibilityOf(authentication.principal), filter }, checkedAt };
    });
  }

  private async readChecked(asked: StreamRequest, first: Checked, requestId: string, gone: AbortSignal): Promise<string> {
    let { subscription, checkedAt } = first;
    const start = await this.positions.of(asked.start ?? 'latest');
    const gap = start.gap && LogEntry.gap(start.position, this.tail.history, start.gap);
    const end = performance.now() + asked.waitSeconds * 1_000;
    let { position } = start;
    for (;;) {
      const page = await this.readOnce(subscription, position, asked.limit);
      const entries = gap ? [gap, ...page.entries] : page.entries;
      const isOver = entries.length > 0 || gone.aborted || this.connections.isDraining;
      if (isOver || (performance.now() >= end && page.position >= this.tail.ring.head)) {
        if (this.revocations.isFresh && this.knownRevocations === checkedAt) return this.toJson(entries, page.position);
        // Something was revoked while the page was read, or this process was paused: it is read again with what the credential may see now.
        ({ subscription, checkedAt } = await this.check(asked, requestId));
        continue;
      }
      position = page.position;
      if (position < this.tail.ring.head) continue;
      await this.growth(end, gone);
      // The credentials and their permissions may have changed during the wait.
      ({ subscription, checkedAt } = await this.check(asked, requestId));
    }
  }

  private get knownRevocations(): string {
    return `${this.revocations.generation} ${this.revocations.position}`;
  }

  private async readOnce(subscription: Subscription, position: Position, limit: number): Promise<{ entries: LogEntry[]; position: Position }> {
    const { ring, history } = this.tail;
    if (position >= ring.floor) {
      const wanted = ring.after(position).filter((entry) => isVisibleTo(subscription, entry));
      return bounded(wanted, limit, ring.head);
    }
    const range = { after: Math.floor(position), end: Math.floor(ring.head), limit };
    const page = await this.reads.run(() => readPage(this.database, subscription, range));
    this.metrics.pagesRead.inc();
    const { entries, position: reached } = pageEntries(page, position, history);
    return bounded(entries, limit, reached);
  }

  /** Resolves on `wake`, when the client has disconnected, or at the time `end`. */
  private async growth(end: number, gone: AbortSignal): Promise<void> {
    if (gone.aborted) return;
    const left = Math.max(0, end - performance.now());
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        gone.removeEventListener('abort', done);
        this.waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, left);
      gone.addEventListener('abort', done);
      this.waiting.add(done);
    });
  }

  /** Ends the wait of all long polls, so that they look for new events. */
  notify(): void {
    for (const done of this.waiting) done();
  }

  private toJson(entries: readonly LogEntry[], position: Position): string {
    this.metrics.sent.page += entries.length;
    const cursor = encodeCursor(this.tail.history.cursorAt(position));
    return `{"events":[${entries.map(({ text }) => text).join()}],"cursor":"${cursor}"}`;
  }
}

/** Returns the entries that fit into a page, and the position after them: `reached` if all fit. */
function bounded(entries: LogEntry[], limit: number, reached: Position): { entries: LogEntry[]; position: Position } {
  let bytes = 0;
  const end = entries.findIndex((entry, n) => n === limit || (bytes += entry.text.length) > maxPageBytes);
  if (end === -1) return { entries, position: reached };
  const fitting = entries.slice(0, Math.max(1, end));
  return { entries: fitting, position: fitting.at(-1)?.position ?? reached };
}
