import type { components, Shop } from '@plant-shop/client';
import { Cell } from './cell.js';
import type { Connection } from './connection.js';
import { type LiveEvents, type LiveMessage, onceOpen } from './live-events.js';

export type Order = components['schemas']['Order'];
export type OrderStatus = Order['status'];

/** What people call the state of an order, whose status stays approved from its payment until its delivery. */
export const stateOf = ({ status, carrier }: Pick<Order, 'status' | 'carrier'>): OrderStatus | 'shipped' => (status === 'approved' && carrier !== undefined ? 'shipped' : status);

export const minuteMs = 60_000;
export const dayMs = 24 * 60 * minuteMs;
/** Minutes shown in the charts. */
const minutes = 60;
const hourMs = minutes * minuteMs;
/** Orders read at most, the newest: more would take seconds. */
const maxOrders = 5_000;
/** Delivered orders that are looked up at the same time; the median needs no more. */
const maxLookups = 5;
const publishMs = 500;
const lagSamples = 50;

/** The last hour, for the charts of the Today page. */
export interface DayFigures {
  /** The orders were read: without, there may be more. */
  readonly isRead: boolean;
  /** More orders were placed in the last hour than were read. */
  readonly isCut: boolean;
  /** Oldest first. */
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

/** The last hour's orders, from lists and events. Pure: uses neither clock nor network. */
export class Day {
  private readonly orders = new Map<number, Order>();
  private readonly deliveries = new Map<number, number[]>();
  private lags: number[] = [];
  isRead = false;
  isCut = false;

  knows(id: number): boolean {
    return this.orders.has(id);
  }

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
    if (message.event === 'order.status_changed') {
      const { orderId, newStatus } = message.data;
      const known = this.orders.get(orderId);
      if (known && ranks[newStatus] > ranks[known.status]) this.orders.set(orderId, { ...known, status: newStatus });
      if (newStatus === 'delivered' && known !== undefined) {
        const minute = minuteOf(at);
        this.deliveries.set(minute, [...(this.deliveries.get(minute) ?? []), at - Date.parse(known.placedAt)]);
      }
    }
  }

  figures(now: number): DayFigures {
    this.forget(now);
    const placed = new Map<number, number>();
    for (const order of this.orders.values()) {
      const minute = minuteOf(placedMs(order));
      placed.set(minute, (placed.get(minute) ?? 0) + 1);
    }
    const perMinute = Array.from({ length: minutes }, (_, n) => {
      const at = minuteOf(now) - (minutes - 1 - n) * minuteMs;
      return { at, placed: placed.get(at) ?? 0, deliveryMs: median(this.deliveries.get(at) ?? []) };
    });
    return { isRead: this.isRead, isCut: this.isCut, perMinute, lagMs: median(this.lags) };
  }

  /** Drops orders of an earlier hour, so that a page that stays open for weeks does not grow. */
  private forget(now: number): void {
    for (const [id, order] of this.orders) if (placedMs(order) < now - hourMs - minuteMs) this.orders.delete(id);
    for (const minute of this.deliveries.keys()) if (minute < now - hourMs) this.deliveries.delete(minute);
  }
}

const placedMs = (order: Order): number => Date.parse(order.placedAt);
const minuteOf = (at: number): number => Math.floor(at / minuteMs) * minuteMs;

export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** The last hour's figures, updated live. Starts with the first page that shows it, and stays for the session. */
export class LiveDay {
  readonly figures: Cell<DayFigures>;
  readonly error = new Cell<unknown>(undefined);
  private day = new Day();
  private isReading = false;
  /** From when on to read again: what is being read may be from before. */
  private readAgainFrom: number | undefined;
  private lookups = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly shop: Shop,
    live: LiveEvents,
    connection: Connection,
    private seesAll: boolean,
  ) {
    this.figures = new Cell(this.day.figures(Date.now()));
    live.subscribe((message) => {
      if (message.event === 'stream.gap') this.read();
      this.day.take(message, Date.now());
      if (message.event === 'order.status_changed' && message.data.newStatus === 'delivered' && !this.day.knows(message.data.orderId)) void this.lookUp(message);
      this.publishSoon();
    });
    // The shop is reachable again: read what failed.
    connection.state.subscribe(() => {
      if (!connection.state.get().isAway) this.read();
    });
    const begun = Date.now() - minuteMs;
    onceOpen(live, () => this.read(begun));
    setInterval(() => this.publishSoon(), minuteMs / 4);
    this.read();
  }

  /** Begins anew if the user sees other orders than before. */
  see(all: boolean): void {
    if (this.seesAll === all) return;
    this.seesAll = all;
    this.day = new Day();
    this.read();
  }

  /** Reads the orders again; events are still counted meanwhile. @param from only those placed since */
  read(from = 0): void {
    if (this.isReading) {
      this.readAgainFrom = Math.min(from, this.readAgainFrom ?? from);
      return;
    }
    this.isReading = true;
    this.readAll(from)
      .then(
        () => this.error.set(undefined),
        (error: unknown) => this.error.set(error),
      )
      .finally(() => {
        this.isReading = false;
        const again = this.readAgainFrom;
        this.readAgainFrom = undefined;
        if (again !== undefined) this.read(again);
      });
  }

  private async readAll(from: number): Promise<void> {
    const { day } = this;
    let count = 0;
    if (from === 0) day.isCut = false;
    for await (const order of this.shop.list('/store/order', { ...(this.seesAll && { owner: '*' }), placedFrom: new Date(Math.max(from, Date.now() - hourMs)).toISOString() })) {
      day.add(order);
      count += 1;
      if (count < maxOrders) continue;
      day.isCut = true;
      break;
    }
    if (from === 0) day.isRead = true;
    this.publishSoon();
  }

  /** Takes the delivery of an order that was placed earlier: its event does not say when. */
  private async lookUp(delivery: LiveMessage & { readonly event: 'order.status_changed' }): Promise<void> {
    if (this.lookups >= maxLookups) return;
    this.lookups += 1;
    try {
      const { data } = await this.shop.GET('/store/order/{orderId}', { params: { path: { orderId: delivery.data.orderId } } });
      this.day.add(data);
      this.day.take(delivery, Date.now());
      this.publishSoon();
    } catch (error) {
      this.error.set(error);
    } finally {
      this.lookups -= 1;
    }
  }

  /** Publishes at most twice a second. */
  private publishSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.figures.set(this.day.figures(Date.now()));
    }, publishMs);
  }
}
