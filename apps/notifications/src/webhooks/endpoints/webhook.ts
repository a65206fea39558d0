import { DomainError } from '@plant-shop/contracts/errors';
import { defaultEventType, isStockEvent } from '@plant-shop/contracts/events';
import type { NewWebhook, Webhook } from '@plant-shop/contracts/notifications';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { networkOf } from '@plant-shop/platform/http/request';
import { type Backlog, noBacklog } from '../queue/pending-limits.js';
import type { WebhookEntity } from '../../database.js';
import { hostOf } from './target-guard.js';

/** How long the previous secret also signs after a rotation, by default: time to deploy the new one to each receiver. */
export const defaultGraceSeconds = 86_400;

/** The fields that the owner sets. */
export type WebhookInput = Pick<WebhookEntity, 'url' | 'name' | 'host' | 'eventTypes' | 'orderId' | 'plantId' | 'newStatuses' | 'description' | 'seesStock'>;

/** Applies defaults: no filters, no name, no description, and the default event type. */
export const toInput = ({ url, name, eventTypes = [defaultEventType], orderId, plantId, newStatuses, description }: NewWebhook): WebhookInput => ({
  url,
  name: name ?? null,
  host: networkOf(hostOf(new URL(url))),
  eventTypes,
  orderId: orderId ?? null,
  plantId: plantId ?? null,
  newStatuses: newStatuses ?? null,
  // Whoever sets such types may read stock (`assertMaySee`).
  seesStock: eventTypes.some(isStockEvent),
  description: description ?? null,
});

/** @param owner the owner's username, if it is shown and known */
export const toWebhook = (record: WebhookEntity, { isBehind, failingSince, lastError }: Backlog = noBacklog, owner?: string): Webhook => ({
  id: record.id,
  url: record.url,
  ...(record.name !== null && { name: record.name }),
  eventTypes: record.eventTypes,
  ...(record.orderId !== null && { orderId: record.orderId }),
  ...(record.plantId !== null && { plantId: record.plantId }),
  ...(record.newStatuses !== null && { newStatuses: record.newStatuses }),
  ...(record.description !== null && { description: record.description }),
  state: record.state,
  ...(record.disabledReason !== null && { disabledReason: record.disabledReason }),
  ...(isBehind && { behind: true }),
  ...(failingSince !== null && { failingSince: failingSince.toISOString(), ...(lastError !== null && { lastError }) }),
  ...(owner !== undefined && { owner }),
  createdAt: record.createdAt.toISOString(),
});

/** Throws `forbidden` without the permission `webhooks`. */
export function assertMayUseWebhooks({ permissions }: Principal): void {
  if (permissions.includes('webhooks')) return;
  throw new DomainError('forbidden', 'Webhooks need the permission webhooks.');
}

/** Whether the principal may list and read the webhooks of others, and their deliveries. */
export const mayReadOthers = ({ permissions }: Principal): boolean => permissions.includes('manage:orders');

/** Throws `forbidden` for a webhook of another user. */
export function assertIsOwner({ subject }: Principal, { ownerId }: WebhookEntity): void {
  if (ownerId === subject) return;
  throw new DomainError('forbidden', 'The webhook belongs to another user: you may read it and its deliveries. Only its owner may change or use it.');
}

/** Throws `forbidden` if the webhook was made for all orders, which the principal may not read: it could redirect their events. */
export function assertMayReplace({ permissions }: Principal, { madeForAll }: WebhookEntity): void {
  if (!madeForAll || permissions.includes('read:orders')) return;
  throw new DomainError('forbidden', 'This webhook was made for all orders. Change it with a credential that has read:orders, or delete it.');
}

/** Throws `too-many-webhooks` at the limit per user. */
export function assertRoomForOneMore(count: number, max: number): void {
  if (count < max) return;
  throw new DomainError('too-many-webhooks', `Delete a webhook first: a user has at most ${max}.`);
}

/** Throws `webhook-not-found` if there is no webhook. */
export function existingWebhook(webhook: WebhookEntity | null): WebhookEntity {
  if (!webhook) throw new DomainError('webhook-not-found', 'You have no such webhook, or it has been deleted.');
  return webhook;
}

/** Throws `precondition-failed` if the webhook has another version. */
export function assertVersion({ version }: WebhookEntity, ifVersion: number | undefined): void {
  if (ifVersion === undefined || ifVersion === version) return;
  throw new DomainError('precondition-failed', `The webhook is now at version ${version}. Read it again.`);
}

/** Throws `webhook-disabled` unless the webhook is enabled. */
export function assertEnabled({ state }: WebhookEntity): void {
  if (state === 'enabled') return;
  throw new DomainError('webhook-disabled', 'The webhook is disabled: enable it first.');
}
