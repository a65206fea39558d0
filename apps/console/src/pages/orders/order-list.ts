import type { Shop } from '@plant-shop/client';
import { Cell } from '../../shop/cell.js';
import type { Order } from '../../shop/day.js';
import type { LiveEvents, LiveMessage } from '../../shop/live-events.js';
import { mayMatch, type OrderFilter, toQuery } from './order-filter.js';
import { changedRow, withNewest } from './order-rows.js';

export interface OrderListState {
  readonly rows: readonly Order[];
  readonly isEnd: boolean;
  readonly isLoading: boolean;
  readonly error: unknown;
}

const pageSize = 500;
const newestSize = 200;
const publishMs = 250;
/** Minimum interval between reloads of the newest page while orders come in. */
const newestMs = 1_500;

/** The orders of one filter: the pages scrolled to so far, rows updated by events, new orders on top. */
export class OrderList {
  readonly state = new Cell<OrderListState>({ rows: [], isEnd: false, isLoading: false, error: undefined });
  private rows: readonly Order[] = [];
  private pages: AsyncGenerator<Order, void, undefined> | undefined;
  private isEnd = false;
  private isLoading = false;
  private error: unknown;
  private timers: { publish?: ReturnType<typeof setTimeout>; newest?: ReturnType<typeof setTimeout> } = {};
  private abort = new AbortController();
  private stop: (() => void) | undefined;

  constructor(
    private readonly shop: Shop,
    private readonly live: LiveEvents,
    private readonly filter: OrderFilter,
    private readonly seesAll: boolean,
  ) {}

  /** Reads the list and follows the events, unless it does already. */
  open(): void {
    if (this.stop) return;
    this.abort = new AbortController();
    this.stop = this.live.subscribe((message) => this.take(message));
    this.start();
  }

  close(): void {
    this.stop?.();
    this.stop = undefined;
    this.abort.abort();
    clearTimeout(this.timers.publish);
    clearTimeout(this.timers.newest);
    this.timers = {};
  }

  /** From the beginning. */
  start(): void {
    this.rows = [];
    this.isEnd = false;
    this.isLoading = false;
    this.pages = this.shop.list('/store/order', { ...toQuery(this.filter, this.seesAll), limit: pageSize }, { signal: this.abort.signal });
    void this.loadMore();
  }

  async loadMore(): Promise<void> {
    const { pages } = this;
    if (this.isLoading || this.isEnd || !pages) return;
    this.isLoading = true;
    this.publish();
    try {
      const more: Order[] = [];
      while (more.length < pageSize && !this.isEnd) {
        const next = await pages.next();
        if (next.done === true) this.isEnd = true;
        else more.push(next.value);
      }
      if (pages !== this.pages) return;
      const known = new Set(this.rows.map(({ id }) => id));
      this.rows = [...this.rows, ...more.filter(({ id }) => !known.has(id))];
      this.error = undefined;
    } catch (error) {
      if (this.abort.signal.aborted || pages !== this.pages) return;
      this.error = error;
      // A generator ends when it throws.
      this.isEnd = true;
    }
    this.isLoading = false;
    this.publish();
  }

  private take(message: LiveMessage): void {
    if (message.event === 'stream.gap') {
      this.start();
      return;
    }
    const { orderId } = message.data;
    const index = this.rows.findIndex(({ id }) => id === orderId);
    const row = this.rows[index];
    if (row) {
      const changed = changedRow(row, message);
      const isLeft = mayMatch(this.filter, { refund: undefined, ...changed, isShipped: changed.carrier !== undefined });
      this.rows = isLeft ? this.rows.with(index, changed) : this.rows.toSpliced(index, 1);
      this.timers.publish ??= setTimeout(() => this.publish(), publishMs);
    } else if (this.mayBelong(message)) {
      this.timers.newest ??= setTimeout(() => void this.readNewest(), newestMs);
    }
  }

  private mayBelong(message: Exclude<LiveMessage, { event: 'stream.gap' }>): boolean {
    const { plantId } = message.data;
    if (message.event === 'order.placed') return mayMatch(this.filter, { plantId, status: 'placed', isShipped: false, refund: undefined });
    if (message.event === 'order.status_changed') return this.filter.status !== undefined && mayMatch(this.filter, { plantId, status: message.data.newStatus });
    if (message.event === 'order.shipped') return this.filter.shipped === true && mayMatch(this.filter, { plantId, status: 'approved', isShipped: true });
    return this.filter.refund === 'due' && mayMatch(this.filter, { plantId, refund: 'due' });
  }

  private async readNewest(): Promise<void> {
    const { pages } = this;
    try {
      const query = { ...toQuery(this.filter, this.seesAll), limit: newestSize };
      const { data, response } = await this.shop.GET('/store/order', { params: { query }, signal: this.abort.signal });
      if (pages !== this.pages) return;
      const merged = withNewest(this.rows, data, !response.headers.has('link'));
      if (merged) this.rows = merged;
      else this.start();
    } catch {
      // The next event reads it again, and a reconnect reads all.
    }
    delete this.timers.newest;
    if (!this.abort.signal.aborted) this.publish();
  }

  private publish(): void {
    clearTimeout(this.timers.publish);
    delete this.timers.publish;
    const { rows, isEnd, isLoading, error } = this;
    this.state.set({ rows, isEnd, isLoading, error });
  }
}
