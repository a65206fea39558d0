import type { WebhookTest } from '@plant-shop/contracts/events';
import { DomainError } from '@plant-shop/contracts/errors';
import type { Delivery, DeliveryAttempt, DeliveryState } from '@plant-shop/contracts/notifications';

/** A delivery as clients may see it; `held` is a pending one of a disabled endpoint. */
export interface DeliveryRecord {
  readonly id: number;
  readonly eventId: string;
  readonly orderId: number | null;
  readonly state: DeliveryState;
  readonly attempts: readonly DeliveryAttempt[];
  /** Null when it is not waiting for its time: under way, behind a predecessor, held or ended. */
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

/** @throws DomainError `delivery-not-found` */
export function existingDelivery(delivery: DeliveryRecord | undefined): DeliveryRecord {
  if (!delivery) throw new DomainError('delivery-not-found', 'The webhook has no such delivery, or it is too old to be kept.');
  return delivery;
}

/** Serialised once, like every event. */
export const testBody = (webhookId: string, now: Date): string =>
  JSON.stringify({ event: 'webhook.test', timestamp: now.toISOString(), data: { webhookId } } satisfies WebhookTest);
