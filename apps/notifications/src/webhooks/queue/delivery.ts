import type { WebhookTest } from '@plant-shop/contracts/events';
import { DomainError } from '@plant-shop/contracts/errors';
import type { Delivery, DeliveryAttempt, DeliveryState } from '@plant-shop/contracts/notifications';

/** The public fields of a delivery. `held` is a pending delivery of a disabled endpoint. */
export interface DeliveryRecord {
  readonly id: number;
  readonly eventId: string;
  readonly orderId: number | null;
  readonly state: DeliveryState;
  readonly attempts: readonly DeliveryAttempt[];
  /** Null unless the delivery waits for this time: it is being sent, waits for a predecessor, is held, or has ended. */
  readonly nextAttemptAt: Date | null;
}

export const toDelivery = (record: DeliveryRecord): Delivery => ({
  id: record.id,
  eventId: record.eventId,
  ...(record.orderId !== null && { orderId: record.orderId }),
  state: record.state,
  attempts: record.attempts,
  ...(record.nextAttemptAt !== null && { nextAttemptAt: record.nextAttemptAt.toISOString() }),
});

/** Throws `delivery-not-found` if there is no delivery. */
export function existingDelivery(delivery: DeliveryRecord | undefined): DeliveryRecord {
  if (!delivery) throw new DomainError('delivery-not-found', 'The webhook has no such delivery, or it has been deleted because of its age.');
  return delivery;
}

/** Returns the body of a `webhook.test` event, serialised once like every event's. */
export const testBody = (webhookId: string, now: Date): string =>
  JSON.stringify({ event: 'webhook.test', timestamp: now.toISOString(), data: { webhookId } } satisfies WebhookTest);
