import type { Shop } from '@plant-shop/client';
import { Cell } from '../../shop/cell.js';
import type { Order } from '../../shop/day.js';
import { type LiveEvents, type LiveMessage, onceOpen } from '../../shop/live-events.js';
import { isOldestFirst, matches, mayMatch, type TabFilter, toQuery } from './order-query.js';
import { changedRow, withOrder, withRead } from './order-rows.js';

export interface OrderListState {
  readonly rows: readonly Order[];
  readonly isEnd: boolean;
  readonly isLoading: boolean;
  readonly error: unknown;
}

const pageSize = 500;
const publishMs = 250;
/** Minimum interval between reads while orders come in; more if the last one took long: it then read many pages. */
const readMs = 1_500;
/** The table wants more rows when so many are left. */
const ahead = 100;
/** Orders that are read one by one at the same time; instead of more, all rows are read again. */
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
  /** Orders that may belong here by their events, or that changed while rows were being read. */
  private incoming = new Set<number>();
  /** Whether more may have changed than `incoming`. */
  private isBehind = false;
  /** Whether the last reading of what has changed failed. */
  private hasFailed = false;
  /** How long it took. */
  private lastMs = 0;
  private catchingUp: Promise<void> | undefined;
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
      this.isBehind = true;
      void this.catchUp();
      return;
    }
    this.abort = new AbortController();
    const { signal } = this.abort;
    this.stop = this.live.subscribe((message) => this.take(message));
    this.start();
    onceOpen(this.live, () => {
      if (signal.aborted) return;
      this.isBehind = true;
      this.catchUpSoon();
    });
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
    this.isBehind = false;
    this.incoming.clear();
    this.pages = this.newPages();
    void this.loadMore();
  }

  private newPages(): AsyncGenerator<Order, void, undefined> {
    return this.shop.list('/store/order', { ...toQuery(this.filter, this.seesAll), limit: pageSize }, { signal: this.abort.signal });
  }

  async loadMore(): Promise<void> {
    if (this.isEnd || !this.pages || this.abort.signal.aborted) return;
    await (this.loading ??= this.loadPage(this.pages));
  }

  /** @returns at most so many orders, the first ones; fewer if the shop refuses the rest */
  async loadUpTo(most: number): Promise<readonly Order[]> {
    await this.catchingUp;
    if (this.isBehind || this.incoming.size > 0) await this.catchUp();
    while (!this.isEnd && this.rows.length < most && !this.abort.signal.aborted) await this.loadMore();
    return this.rows.slice(0, most);
  }

  private async loadPage(pages: AsyncGenerator<Order, void, undefined>): Promise<void> {
    const more: Order[] = [];
    this.publish(true);
    try {
      const isEnd = await fill(more, pages, pageSize);
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
    }
    // What is being read may be from before the event. A new order only comes.
    const isOutdated = message.event !== 'order.placed' && (this.loading !== undefined || this.catchingUp !== undefined);
    if (this.isResting || !(isOutdated || (!row && this.mayBelong(message)))) return;
    this.incoming.add(orderId);
    this.catchUpSoon();
  }

  private mayBelong(message: Exclude<LiveMessage, { event: 'stream.gap' }>): boolean {
    const { plantId } = message.data;
    if (message.event === 'order.placed') return mayMatch(this.filter, { plantId, status: 'placed', isShipped: false, refund: undefined });
    if (message.event === 'order.status_changed') return mayMatch(this.filter, { plantId, status: message.data.newStatus });
    if (message.event === 'order.shipped') return mayMatch(this.filter, { plantId, status: 'approved', isShipped: true });
    return mayMatch(this.filter, { plantId, refund: 'due' });
  }

  private catchUpSoon(): void {
    this.timers.read ??= setTimeout(() => {
      delete this.timers.read;
      void this.catchUp();
    }, Math.max(readMs, 2 * this.lastMs));
  }

  /** Reads what events have told of so far. What comes meanwhile is read next. */
  private catchUp(): Promise<void> {
    const { signal } = this.abort;
    this.catchingUp ??= this.readIncoming(signal).finally(() => {
      this.catchingUp = undefined;
      if (signal.aborted) return;
      this.publish();
      if (this.isBehind || this.incoming.size > 0) this.catchUpSoon();
    });
    return this.catchingUp;
  }

  private async readIncoming(signal: AbortSignal): Promise<void> {
    clearTimeout(this.timers.read);
    delete this.timers.read;
    while (this.loading) await this.loading;
    if (signal.aborted) return;
    const ids = [...this.incoming];
    const isMany = this.isBehind || this.error !== undefined || ids.length > mostSingle || this.filter.q !== undefined;
    this.incoming.clear();
    this.isBehind = false;
    // The last reading has failed.
    if (this.isOld) {
      this.start();
      return;
    }
    const { pages } = this;
    const begun = performance.now();
    try {
      if (isMany) await this.readLoaded(signal);
      else await this.readSingle(ids, signal);
      this.hasFailed = false;
    } catch {
      if (this.abort.signal.aborted || pages !== this.pages) return;
      // The rows stay for a second try. If that fails, too, all is read anew, which says what is wrong.
      this.isBehind = !this.hasFailed;
      if (this.hasFailed) this.start();
      this.hasFailed = !this.hasFailed;
    } finally {
      this.lastMs = performance.now() - begun;
    }
  }

  private async readSingle(ids: readonly number[], signal: AbortSignal): Promise<void> {
    const { pages } = this;
    const found = await Promise.all(ids.map((orderId) => this.shop.GET('/store/order/{orderId}', { params: { path: { orderId }, query: { expand: ['plant'] } }, signal })));
    if (signal.aborted || pages !== this.pages) return;
    for (const { data } of found) {
      if (matches(this.filter, data)) this.rows = withOrder(this.rows, data, { isOldestFirst: isOldestFirst(this.filter), isEnd: this.isEnd });
      else this.rows = this.rows.filter(({ id }) => id !== data.id);
    }
  }

  /** Reads as many pages again as there are: an order that is paid late belongs among older ones. */
  private async readLoaded(signal: AbortSignal): Promise<void> {
    const { pages } = this;
    const again = this.newPages();
    const found: Order[] = [];
    // Whole pages: the rest of one would be old when it is wanted.
    const wanted = (): number => pageSize * Math.max(Math.ceil((this.rows.length - (this.isEnd ? 0 : ahead)) / pageSize), 1);
    let isEnd: boolean;
    do {
      isEnd = await fill(found, again, wanted());
      while (this.loading) await this.loading;
      if (signal.aborted || pages !== this.pages) return;
    } while (!isEnd && found.length < wanted());
    this.pages = again;
    this.isEnd = isEnd;
    this.error = undefined;
    this.rows = withRead(this.rows, found);
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

/** Takes orders until there are so many. @returns whether there are no more */
async function fill(orders: Order[], pages: AsyncGenerator<Order, void, undefined>, most: number): Promise<boolean> {
  while (orders.length < most) {
    const next = await pages.next();
    if (next.done === true) return true;
    orders.push(next.value);
  }
  return false;
}
