import type { EventsOptions, Shop, ShopEvents, StreamMessage } from '@plant-shop/client';
import { Cell } from '../../shop/cell.js';
import type { OrderEventType } from '../../shop/live-events.js';

export type Frame = StreamMessage<OrderEventType>;
export type TailFilter = Pick<EventsOptions<OrderEventType>, 'cursor' | 'types' | 'plantId' | 'orderId' | 'newStatus'>;

export interface TailEntry {
  /** Sequence number on this page, from 0. */
  readonly number: number;
  readonly frame: Frame;
}

export interface TailSnapshot {
  readonly state: 'connecting' | 'live' | 'refused';
  readonly isPaused: boolean;
  /** Oldest first; the newest `maxEntries` at most. */
  readonly entries: readonly TailEntry[];
  readonly received: number;
  /** Events that come while it is paused, `bufferSize` at most. */
  readonly waiting: number;
  readonly error: unknown;
}

/** Events kept by the page; older ones can be read from the shop. */
export const maxEntries = 5_000;
/** Events that wait here while paused. Beyond it, the client library stops reading and resumes later. */
export const bufferSize = 1_000;
/** Interval between renderings, regardless of the rate of events. */
const drawMs = 100;

interface Gate {
  readonly opened: Promise<void>;
  readonly open: () => void;
}

/** Follows the stream from a position and keeps the newest events. */
export class Tail {
  readonly snapshot = new Cell<TailSnapshot>({ state: 'connecting', isPaused: false, entries: [], received: 0, waiting: 0, error: undefined });
  private entries: TailEntry[] = [];
  private received = 0;
  private waiting: Frame[] = [];
  /** Where it goes on after it was closed. */
  private cursor: string | undefined;
  private events: ShopEvents<OrderEventType> | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pause: Gate | undefined;

  constructor(private readonly shop: Shop, private readonly filter: TailFilter) {}

  /** Begins, or goes on from where it was closed. */
  start(): void {
    this.set({ state: 'connecting', error: undefined });
    const onState: EventsOptions['onState'] = ({ state }) => this.set({ state: state === 'connected' ? 'live' : 'connecting' });
    this.events = this.shop.events({ ...this.filter, ...(this.cursor !== undefined && { cursor: this.cursor }), onState });
    void this.follow(this.events);
  }

  close(): void {
    this.draw();
    this.cursor = this.events?.cursor;
    void this.events?.close();
    this.events = undefined;
    this.pause?.open();
  }

  /** Pauses the display. Events that arrive meanwhile are shown afterwards. */
  setPaused(isPaused: boolean): void {
    this.pause?.open();
    this.pause = isPaused ? newGate() : undefined;
    this.set({ isPaused });
    if (!isPaused) for (const frame of this.waiting.splice(0)) this.take(frame);
  }

  clear(): void {
    this.entries = [];
    this.draw();
  }

  private async follow(events: ShopEvents<OrderEventType>): Promise<void> {
    try {
      for await (const frame of events) {
        if (this.waiting.length === bufferSize) await this.pause?.opened;
        if (this.events !== events) return;
        this.take(frame);
      }
    } catch (error) {
      if (this.events === events) this.set({ state: 'refused', error });
    }
  }

  private take(frame: Frame): void {
    if (this.pause) this.waiting.push(frame);
    else {
      this.entries.push({ number: this.received, frame });
      this.received += 1;
      if (this.entries.length >= 2 * maxEntries) this.entries = this.entries.slice(-maxEntries);
    }
    this.timer ??= setTimeout(() => this.draw(), drawMs);
  }

  private draw(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.set({ entries: this.entries.slice(-maxEntries), received: this.received, waiting: this.waiting.length });
  }

  private set(change: Partial<TailSnapshot>): void {
    this.snapshot.set({ ...this.snapshot.get(), ...change });
  }
}

function newGate(): Gate {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
