import { Cell } from './cell.js';
import type { LiveEvents } from './live-events.js';

/** Orders that were placed since the person last looked at the list. */
interface NewOrders {
  readonly count: number;
  /** Whether there may be more: events were missed. */
  readonly isMore: boolean;
}

const none: NewOrders = { count: 0, isMore: false };

/** Under which the tab keeps the count over a reload. */
const key = 'console-new-orders';
/** Under which the browser keeps when the person last looked at the list, in any of its tabs. */
const seenKey = 'console-orders-seen';

/** Zero unless the person wants to be told. Every page has it in its tab's title. */
export const newOrders = new Cell<NewOrders>(none);

/** "3", or "3+" if there may be more; empty for none. */
export const newOrdersText = ({ count, isMore }: NewOrders): string => (count === 0 && !isMore ? '' : `${count}${isMore ? '+' : ''}`);

/** Counts from now on, and from what the page had counted before a reload, which may have missed some. @param onOrder called for each @returns a function that stops it */
export function countNewOrders(live: LiveEvents, onOrder: () => void): () => void {
  const kept = Number(sessionStorage.getItem(key) ?? 0);
  if (kept > 0) newOrders.set({ count: kept, isMore: true });
  const onStorage = (event: StorageEvent): void => {
    if (event.key === seenKey) newOrders.set(none);
  };
  window.addEventListener('storage', onStorage);
  const keep = newOrders.subscribe(() => sessionStorage.setItem(key, String(newOrders.get().count)));
  const stop = live.subscribe((message) => {
    const { count, isMore } = newOrders.get();
    if (message.event === 'stream.gap') newOrders.set({ count, isMore: true });
    if (message.event !== 'order.placed') return;
    newOrders.set({ count: count + 1, isMore });
    onOrder();
  });
  return () => {
    stop();
    window.removeEventListener('storage', onStorage);
    newOrders.set(none);
    keep();
  };
}

/** The person looks at the list. */
export function seeNewOrders(): void {
  newOrders.set(none);
  localStorage.setItem(seenKey, String(Date.now()));
}
