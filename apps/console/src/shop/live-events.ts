import { type EventType, type Shop, type ShopEvents, type StreamMessage } from '@plant-shop/client';
import { Cell } from './cell.js';

/** The console follows orders, not stock. */
export type OrderEventType = Exclude<EventType, `stock.${string}`>;
export type LiveMessage = StreamMessage<OrderEventType>;
export type LiveState = 'off' | 'connecting' | 'live' | 'refused';

const types: readonly OrderEventType[] = ['order.placed', 'order.status_changed', 'order.shipped', 'refund.due'];

/**
 * The shop's order events from now on, over one connection for all pages. It opens with the first listener and stays open,
 * so navigation loses no event.
 */
export class LiveEvents {
  readonly state = new Cell<LiveState>('off');
  private readonly listeners = new Set<(message: LiveMessage) => void>();
  private events: ShopEvents<OrderEventType> | undefined;

  /** @param onBroken called when the connection breaks: the shop may be unreachable */
  constructor(
    private readonly shop: Shop,
    private readonly onBroken: () => void,
  ) {}

  /** @returns a function that unsubscribes */
  subscribe(listener: (message: LiveMessage) => void): () => void {
    this.listeners.add(listener);
    if (!this.events) void this.follow();
    return () => this.listeners.delete(listener);
  }

  close(): void {
    this.listeners.clear();
    void this.events?.close();
  }

  /** Resolves when the stream has opened: every event from then on is told. */
  async opened(): Promise<void> {
    await this.events?.opened();
  }

  private tell(isConnected: boolean): void {
    this.state.set(isConnected ? 'live' : 'connecting');
    if (!isConnected) this.onBroken();
  }

  private async follow(): Promise<void> {
    this.state.set('connecting');
    this.events = this.shop.events({ types, onState: ({ state }) => this.tell(state === 'connected') });
    try {
      for await (const message of this.events) for (const listener of this.listeners) listener(message);
      this.state.set('off');
    } catch {
      // The client library gave up. The live badge shows it.
      this.state.set('refused');
    }
    this.events = undefined;
  }
}

/** Calls when the stream opens, unless it is open. What comes between a reading before and that has no event. */
export function onceOpen(live: Pick<LiveEvents, 'state' | 'opened'>, call: () => void): void {
  if (live.state.get() !== 'live') void live.opened().then(call, () => undefined);
}
