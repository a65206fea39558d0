import type { Shop } from '@plant-shop/client';
import { Cell } from '../../shop/cell.js';
import type { Order } from '../../shop/day.js';
import type { LiveEvents, LiveMessage } from '../../shop/live-events.js';
import { isOldestFirst, matches, mayMatch, type TabFilter, toQuery } from './order-query.js';
import { changedRow, withFirst, withOrder } from './order-rows.js';

export interface OrderListState {
  readonly rows: readonly Order[];
  readonly isEnd: boolean;
  readonly isLoading: boolean;
  readonly error: unknown;
}

const pageSize = 500;
const firstSize = 200;
const publishMs = 250;
/** Minimum interval between reads while orders come in. */
const readMs = 1_500;
/** Orders that are read one by one at the same time; of more, the first page is read. */
const mostSingle = 20;

/** The orders of one filter: the pages scrolled to so far, rows updated by events, new orders where they belong. */
export class OrderList {
  readonly state = new Cell<OrderListState>({ rows: [], isEnd: false, isLoading: false, error: undefined });
  private rows: readonly Order[] = [];
  private pages: AsyncGenerator<Order, void, undefined> | undefined;
  private isEnd = false;
  private loading: Promise<void> | undefined;
  private error: unknown;
  private timers: { publish?: ReturnType<typeof setTimeout>; read?: ReturnType<typeof setTimeout> } = {};
  /** Orders that may belong here by their events. */
  private incoming = new Set<number>();
  private abort = new AbortController();
  private stop: (() => void) | undefined;
  private isResting = false;
  /** Whether the rows are of an earlier reading, and shown until the next one answers. */
  private isOld = false;

  constructor(
    private readonly shop: Shop,
    private readonly live: LiveEvents,
    private readonly filter: TabFilter,
    private readonly seesAll: boolean,
  ) {}

  /** Reads the list and follows the events. If it does already, only what events do not tell is read: a refund that was completed, and what came while it rested. */
  open(): void {
    this.isResting = false;
    if (this.stop) {
      if (this.error === undefined) void this.readFirst();
      else this.start();
      return;
    }
    this.abort = new AbortController();
    this.stop = this.live.subscribe((message) => this.take(message));
    this.start();
  }

  /** Nobody looks at it: rows change and go with the events, and orders that belong here wait for `open`. */
  rest(): void {
    this.isResting = true;
  }

  close(): void {
    this.stop?.();
    this.stop = undefined;
    this.abort.abort();
    clearTimeout(this.timers.publish);
    clearTimeout(this.timers.read);
    this.timers = {};
    this.loading = undefined;
    this.publish();
  }

  /** From the beginning. */
  start(): void {
    this.isOld = true;
    this.isEnd = false;
    this.loading = undefined;
    this.incoming.clear();
    this.pages = this.shop.list('/store/order', { ...toQuery(this.filter, this.seesAll), limit: pageSize }, { signal: this.abort.signal });
    void this.loadMore();
  }

  async loadMore(): Promise<void> {
    if (this.isEnd || !this.pages || this.abort.signal.aborted) return;
    await (this.loading ??= this.loadPage(this.pages));
  }

  /** @returns at most so many orders, the first ones; fewer if the shop refuses the rest */
  async loadUpTo(most: number): Promise<readonly Order[]> {
    while (!this.isEnd && this.rows.length < most && !this.abort.signal.aborted) await this.loadMore();
    return this.rows.slice(0, most);
  }

  private async loadPage(pages: AsyncGenerator<Order, void, undefined>): Promise<void> {
    const more: Order[] = [];
    this.publish(true);
    try {
      let isEnd = false;
      while (more.length < pageSize && !isEnd) {
        const next = await pages.next();
        if (next.done === true) isEnd = true;
        else more.push(next.value);
      }
      if (pages !== this.pages) return;
      this.isEnd = isEnd;
      if (this.isOld) this.rows = [];
      this.isOld = false;
      const known = new Set(this.rows.map(({ id }) => id));
      this.rows = [...this.rows, ...more.filter(({ id }) => !known.has(id))];
      this.error = undefined;
    } catch (error) {
      if (this.abort.signal.aborted || pages !== this.pages) return;
      this.error = error;
      // A generator ends when it throws.
      this.isEnd = true;
    }
    this.loading = undefined;
    this.publish();
  }

  private take(message: LiveMessage): void {
    if (message.event === 'stream.gap') {
      if (this.isResting) this.close();
      else this.start();
      return;
    }
    const { orderId } = message.data;
    const index = this.rows.findIndex(({ id }) => id === orderId);
    const row = this.isOld ? undefined : this.rows[index];
    if (row) {
      const changed = changedRow(row, message);
      const isLeft = mayMatch(this.filter, { refund: undefined, ...changed, isShipped: changed.carrier !== undefined });
      this.rows = isLeft ? this.rows.with(index, changed) : this.rows.toSpliced(index, 1);
      this.timers.publish ??= setTimeout(() => this.publish(), publishMs);
    } else if (!this.isResting && this.mayBelong(message)) {
      this.incoming.add(orderId);
      this.timers.read ??= setTimeout(() => void this.readIncoming(), readMs);
    }
  }

  private mayBelong(message: Exclude<LiveMessage, { event: 'stream.gap' }>): boolean {
    const { plantId } = message.data;
    if (message.event === 'order.placed') return mayMatch(this.filter, { plantId, status: 'placed', isShipped: false, refund: undefined });
    if (message.event === 'order.status_changed') return mayMatch(this.filter, { plantId, status: message.data.newStatus });
    if (message.event === 'order.shipped') return mayMatch(this.filter, { plantId, status: 'approved', isShipped: true });
    return mayMatch(this.filter, { plantId, refund: 'due' });
  }

  /** The first page has the newest orders, but an order that is paid late belongs among older ones. */
  private async readIncoming(): Promise<void> {
    const ids = [...this.incoming];
    this.incoming.clear();
    if (ids.length > mostSingle || this.filter.q !== undefined || this.rows.length === 0 || this.isOld) {
      await this.readFirst();
      return;
    }
    const { pages } = this;
    const found = await Promise.allSettled(ids.map((orderId) => this.shop.GET('/store/order/{orderId}', { params: { path: { orderId }, query: { expand: ['plant'] } }, signal: this.abort.signal })));
    delete this.timers.read;
    if (this.abort.signal.aborted || pages !== this.pages) return;
    for (const one of found) {
      // Of the others, the next event or a reconnect tells again.
      if (one.status === 'fulfilled' && matches(this.filter, one.value.data)) this.rows = withOrder(this.rows, one.value.data, { isOldestFirst: isOldestFirst(this.filter), isEnd: this.isEnd });
    }
    this.publish();
  }

  private async readFirst(): Promise<void> {
    const { pages } = this;
    try {
      const query = { ...toQuery(this.filter, this.seesAll), limit: firstSize };
      const { data, response } = await this.shop.GET('/store/order', { params: { query }, signal: this.abort.signal });
      // The page that is being read is as new.
      if (pages !== this.pages || this.loading) return;
      const isWhole = !response.headers.has('link');
      const merged = withFirst(this.rows, data, isWhole);
      // Otherwise more may follow than the list knows of.
      if (merged && (isWhole || merged.length > data.length)) this.rows = merged;
      else this.start();
    } catch {
      // The next event reads it again, and a reconnect reads all.
    } finally {
      delete this.timers.read;
    }
    if (!this.abort.signal.aborted) this.publish();
  }

  private publish(isLoading = this.loading !== undefined): void {
    clearTimeout(this.timers.publish);
    delete this.timers.publish;
    const { rows, isEnd, error } = this;
    const before = this.state.get();
    if (rows === before.rows && isEnd === before.isEnd && isLoading === before.isLoading && error === before.error) return;
    this.state.set({ rows, isEnd, isLoading, error });
  }
}
