import type { EventType } from './webhook-reads.js';

/** What each type of event says, in the order in which forms list them. */
export const eventLabels: Readonly<Record<EventType, string>> = {
  'order.status_changed': 'An order changes its status',
  'order.placed': 'An order is placed',
  'order.shipped': 'An order is shipped',
  'refund.due': 'A refund becomes due',
  'stock.low': 'A plant is low on stock',
  'stock.out': 'A plant is out of stock',
  'stock.back': 'A plant is in stock again',
};

export const eventTypes = Object.keys(eventLabels) as readonly EventType[];

/** The sentence of a type, or the type itself if only a newer shop knows it. */
export const eventLabel = (type: string): string => (type === 'webhook.test' ? 'Test' : (eventLabels as Readonly<Record<string, string>>)[type] ?? type);
