import type { components, Shop } from '@plant-shop/client';
import { Cell } from './cell.js';
import type { Connection } from './connection.js';
import type { LiveEvents, LiveMessage } from './live-events.js';

export type Order = components['schemas']['Order'];
export type OrderStatus = Order['status'];

export const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** Minutes shown in the charts. */
const minutes = 60;
/** Orders counted per list, the newest: more would take seconds to read. */
const maxOrders = 5_000;
const publishMs = 500;
const lagSamples = 50;

/** Figures of the Today page: about open orders, and all orders of the last 24 hours. */
export interface DayFigures {
  /** False until the orders have been read. */
  readonly isRead: boolean;
  readonly counts: Readonly<Record<OrderStatus, number>>;
  /** There are more orders than were read. */
  readonly isCut: boolean;
  /** Paid orders that are not shipped, oldest first. */
  readonly toShip: readonly Order[];
  /** For the last hour, oldest first. */
  readonly perMinute: readonly MinuteFigures[];
  /** Median delay from a change to its event on this page, by the browser's clock. */
  readonly lagMs: number | undefined;
}

interface MinuteFigures {
  /** Start of the minute. */
  readonly at: number;
  readonly placed: number;
  /** Median time from placing to delivery of the orders delivered in this minute while the page was open; absent if none. */
  readonly deliveryMs: number | undefined;
}

const ranks: Readonly<Record<OrderStatus, number>> = { placed: 0, approved: 1, delivered: 2, cancelled: 2 };

/** The day's orders, from lists and events. Pure: uses neither clock nor network. */
export class Day {
  private readonly orders = new Map<number, Order>();
  private readonly deliveries = new Map<number, number[]>();
  private lags: number[] = [];
  isRead = false;
  isCut = false;

  /** Adds an order of a list, which may be older than the events taken so far. */
  add(order: Order): void {
    const known = this.orders.get(order.id);
    this.orders.set(order.id, known && ranks[known.status] > ranks[order.status] ? { ...order, status: known.status } : order);
  }

  take(message: LiveMessage, now: number): void {
    if (message.event === 'stream.gap') return;
    const at = Date.parse(message.timestamp);
    this.lags = [...this.lags.slice(-lagSamples + 1), Math.max(0, now - at)];
    if (message.event === 'order.placed') {
      const { orderId: id, plantId, quantity } = message.data;
      if (!this.orders.has(id)) this.orders.set(id, { id, plantId, quantity, status: 'placed', complete: false, placedAt: message.timestamp, updatedAt: message.timestamp });
    }
    if (message.event === 'order.shipped') this.change(message.data.orderId, { carrier: message.data.carrier });
    if (message.event === 'order.status_changed') {
      const { orderId, newStatus } = message.data;
      const known = this.orders.get(orderId);
      if (known && ranks[newStatus] > ranks[known.status]) this.change(orderId, { status: newStatus });
      if (newStatus === 'delivered' && known !== undefined) {
        const minute = minuteOf(at);
        this.deliveries.set(minute, [...(this.deliveries.get(minute) ?? []), at - Date.parse(known.placedAt)]);
      }
    }
  }

  figures(now: number): DayFigures {
    this.forget(now);
    const counts = { placed: 0, approved: 0, delivered: 0, cancelled: 0 };
    const placed = new Map<number, number>();
    const toShip: Order[] = [];
    for (const order of this.orders.values()) {
      counts[order.status] += 1;
      if (order.status === 'approved' && order.carrier === undefined) toShip.push(order);
      const minute = minuteOf(placedMs(order));
      placed.set(minute, (placed.get(minute) ?? 0) + 1);
    }
    const perMinute = Array.from({ length: minutes }, (_, n) => {
      const at = minuteOf(now) - (minutes - 1 - n) * minuteMs;
      return { at, placed: placed.get(at) ?? 0, deliveryMs: median(this.deliveries.get(at) ?? []) };
    });
    // ISO 8601 in UTC: their order is that of the times. Parsing in a comparison would take most of a frame.
    toShip.sort((a, b) => compare(a.placedAt, b.placedAt));
    return { isRead: this.isRead, isCut: this.isCut, counts, toShip, perMinute, lagMs: median(this.lags) };
  }

  private change(id: number, changed: Partial<Order>): void {
    const known = this.orders.get(id);
    if (known) this.orders.set(id, { ...known, ...changed });
  }

  /** Drops orders closed for a day, so that a page that stays open for weeks does not grow. */
  private forget(now: number): void {
    for (const [id, order] of this.orders) if (ranks[order.status] === 2 && placedMs(order) < now - dayMs) this.orders.delete(id);
    for (const minute of this.deliveries.keys()) if (minute < now - minutes * minuteMs) this.deliveries.delete(minute);
  }
}

const placedMs = (order: Order): number => Date.parse(order.placedAt);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const minuteOf = (at: number): number => Math.floor(at / minuteMs) * minuteMs;

export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** The day's figures, updated live. Starts with the first page that shows it, and stays for the session. */
export class LiveDay {
  readonly figures: Cell<DayFigures>;
  readonly error = new Cell<unknown>(undefined);
  private day = new Day();
  private isReading = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly shop: Shop,
    live: LiveEvents,
    connection: Connection,
    private readonly seesAll: boolean,
  ) {
    this.figures = new Cell(this.day.figures(Date.now()));
    live.subscribe((message) => {
      if (message.event === 'stream.gap') this.read();
      this.day.take(message, Date.now());
      this.publishSoon();
    });
    // The shop is reachable again: read what failed.
    connection.state.subscribe(() => {
      if (!connection.state.get().isAway) this.read();
    });
    setInterval(() => this.publishSoon(), minuteMs / 4);
    this.read();
  }

  /** Reads the orders again; events are still counted meanwhile. */
  read(): void {
    if (this.isReading) return;
    this.isReading = true;
    this.readAll()
      .then(
        () => this.error.set(undefined),
        (error: unknown) => this.error.set(error),
      )
      .finally(() => {
        this.isReading = false;
      });
  }

  private async readAll(): Promise<void> {
    const owner = this.seesAll ? { owner: '*' } : {};
    const since = new Date(Date.now() - dayMs).toISOString();
    const { day } = this;
    day.isCut = false;
    for (const filter of [{ status: ['placed', 'approved'] as OrderStatus[] }, { status: ['delivered', 'cancelled'] as OrderStatus[], placedFrom: since }]) {
      let count = 0;
      for await (const order of this.shop.list('/store/order', { ...owner, ...filter })) {
        day.add(order);
        count += 1;
        if (count < maxOrders) continue;
        day.isCut = true;
        break;
      }
    }
    day.isRead = true;
    this.publishSoon();
  }

  /** Publishes at most twice a second. */
  private publishSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.figures.set(this.day.figures(Date.now()));
    }, publishMs);
  }
}
