import { DomainError } from '@plant-shop/contracts/errors';
import { defaultEventType } from '@plant-shop/contracts/events';
import type { NewWebhook, Webhook } from '@plant-shop/contracts/notifications';
import type { Principal } from '@plant-shop/platform/rpc/principal';
import type { WebhookEntity } from './webhook.entity.js';

/** How long the former secret goes on signing where nothing else is asked: time to carry the new one to each receiver. */
export const defaultGraceSeconds = 86_400;

/** What its owner decides. */
export type WebhookInput = Pick<WebhookEntity, 'url' | 'eventTypes' | 'orderId' | 'plantId' | 'description'>;

/** Absent filters and description are none; absent types are the default one. */
export const toInput = ({ url, eventTypes = [defaultEventType], orderId, plantId, description }: NewWebhook): WebhookInput => ({
  url,
  eventTypes,
  orderId: orderId ?? null,
  plantId: plantId ?? null,
  description: description ?? null,
});

export const toWebhook = (record: WebhookEntity): Webhook => ({
  id: record.id,
  url: record.url,
  eventTypes: record.eventTypes,
  ...(record.orderId !== null && { orderId: record.orderId }),
  ...(record.plantId !== null && { plantId: record.plantId }),
  ...(record.description !== null && { description: record.description }),
  state: record.state,
  ...(record.disabledReason !== null && { disabledReason: record.disabledReason }),
  createdAt: record.createdAt.toISOString(),
});

/** @throws DomainError `forbidden` */
export function assertMayUseWebhooks({ permissions }: Principal): void {
  if (permissions.includes('webhooks')) return;
  throw new DomainError('forbidden', 'Webhooks need the permission webhooks.');
}

/** @throws DomainError `too-many-webhooks` */
export function assertRoomForOneMore(count: number, max: number): void {
  if (count < max) return;
  throw new DomainError('too-many-webhooks', `Delete a webhook first: a user has at most ${max}.`);
}

/** @throws DomainError `webhook-not-found` */
export function existingWebhook(webhook: WebhookEntity | null): WebhookEntity {
  if (!webhook) throw new DomainError('webhook-not-found', 'You have no such webhook, or it is deleted already.');
  return webhook;
}

/** @throws DomainError `precondition-failed` */
export function assertVersion({ version }: WebhookEntity, ifVersion: number | undefined): void {
  if (ifVersion === undefined || ifVersion === version) return;
  throw new DomainError('precondition-failed', `The webhook is at version ${version} by now. Read it again.`);
}

/** @throws DomainError `webhook-disabled` */
export function assertEnabled({ state }: WebhookEntity): void {
  if (state === 'enabled') return;
  throw new DomainError('webhook-disabled', 'The webhook is disabled: enable it first.');
}
