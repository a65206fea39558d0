import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { ArrayUnique, IsOptional } from 'class-validator';
import type { ErrorCode } from './errors.js';
import { type EventType, eventTypes } from './events.js';
import {
  DateTime,
  ExpectedVersion,
  Flag,
  Id,
  Integer,
  ListOf,
  ObjectOf,
  OneOf,
  PageRequest,
  Pattern,
  SomeOf,
  Text,
  Uuid,
} from './fields.js';
import { Description, Schema } from './schema.js';

export const webhookStates = ['enabled', 'disabled'] as const;
export type WebhookState = (typeof webhookStates)[number];

/**
 * - `pending`: due now or later.
 * - `held`: the endpoint is disabled; delivery continues when it is enabled again.
 * - `delivered`: answered with 2xx.
 * - `failed`: all attempts failed, or it was held for too long.
 */
export const deliveryStates = ['pending', 'held', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

// Sent by clients

export class NewWebhook {
  @Pattern(/^https?:\/\/\S{1,2000}$/i, 'must be an http or https URL of at most 2,000 characters without spaces', {
    format: 'uri',
    maxLength: 2_008,
  })
  @Description('Receives events by POST. Must be an https address reachable from the internet, unless the shop is configured otherwise.')
  url: string;

  @IsOptional()
  @ListOf(eventTypes.length, 1)
  @ArrayUnique({ message: 'must not repeat an event type' })
  @SomeOf(eventTypes, `must contain only values from ${eventTypes.join(', ')}`)
  @Schema({ uniqueItems: true })
  @Description('Default: only `order.status_changed`.')
  eventTypes?: EventType[];

  @IsOptional()
  @Id()
  @Description('Only events of this order.')
  orderId?: number;

  @IsOptional()
  @Id()
  @Description('Only events of orders of this plant.')
  plantId?: number;

  @IsOptional()
  @Text({ max: 1_000 })
  description?: string;
}

/** Replaces all settings. Absent filters and an absent description are cleared. */
export class WebhookReplacement extends NewWebhook {
  @IsOptional()
  @OneOf(webhookStates)
  @Description('Absent: it stays the same. Events for a disabled endpoint are held for 30 days.')
  state?: WebhookState;
}

export class SecretRotation {
  @IsOptional()
  @Description('How long deliveries are signed with both secrets, in seconds. Default: one day. 0: the old secret ends at once.')
  @Integer(0, 2_592_000)
  graceSeconds?: number;
}

/** A range of past events, from a cursor or from a time. */
export class ReplayRange {
  @IsOptional()
  @Description('Events after this cursor, from the event stream or an earlier replay. Use instead of `since`.')
  @Text({ max: 500 })
  fromCursor?: string;

  @IsOptional()
  @Description('Events from this time on.')
  @DateTime()
  since?: string;

  @IsOptional()
  @Description('Events before this time. Default: now.')
  @DateTime()
  until?: string;

  @IsOptional()
  @Flag()
  @Description('Only events whose delivery to this endpoint failed.')
  onlyFailed?: boolean;
}

// Requests

export class CreateWebhook {
  @ObjectOf(() => NewWebhook)
  webhook: NewWebhook;
}

/** Lists the caller's webhooks, newest first. */
export class ListWebhooks extends PageRequest {}

class WebhookRequest {
  @Uuid()
  webhookId: string;
}

export class GetWebhook extends WebhookRequest {}

export class ReplaceWebhook extends WebhookRequest {
  @ObjectOf(() => WebhookReplacement)
  webhook: WebhookReplacement;

  @ExpectedVersion()
  ifVersion?: number;
}

export class DeleteWebhook extends WebhookRequest {
  @ExpectedVersion()
  ifVersion?: number;
}

export class RotateWebhookSecret extends WebhookRequest {
  @ObjectOf(() => SecretRotation)
  rotation: SecretRotation;
}

/** Sends a `webhook.test`, with the same retries as other events. */
export class TestWebhook extends WebhookRequest {}

/** Newest first. */
export class ListDeliveries extends PageRequest {
  @Uuid()
  webhookId: string;

  @IsOptional()
  @OneOf(deliveryStates)
  state?: DeliveryState;
}

/** Sends the event again at once, with the same id and bytes. */
export class ResendDelivery extends WebhookRequest {
  @Id()
  deliveryId: number;
}

export class ReplayEvents extends WebhookRequest {
  @ObjectOf(() => ReplayRange)
  replay: ReplayRange;
}

// Answers

export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly eventTypes: readonly EventType[];
  readonly orderId?: number;
  readonly plantId?: number;
  readonly description?: string;
  readonly state: WebhookState;
  /** Present if the shop disabled the webhook: it answered 410 (`gone`), or failed for days (`failing`). */
  readonly disabledReason?: 'gone' | 'failing';
  readonly createdAt: string;
}

/** `secret` is returned here and on rotation, and stored only encrypted. */
export type CreatedWebhook = Webhook & { readonly secret: string };

export interface RotatedSecret {
  readonly secret: string;
  /** Until then deliveries are signed with both secrets. */
  readonly previousUntil: string;
}

export interface DeliveryAttempt {
  readonly at: string;
  /** The receiver's HTTP status, if it answered. */
  readonly status?: number;
  readonly durationMs: number;
  /** Why the attempt failed, for people. */
  readonly error?: string;
}

export interface Delivery {
  readonly id: number;
  readonly eventId: string;
  /** Absent for a `webhook.test`. */
  readonly orderId?: number;
  readonly state: DeliveryState;
  readonly attempts: readonly DeliveryAttempt[];
  readonly nextAttemptAt?: string;
}

/** The result of a replay. With `cursor` there are more events: call again from there. */
export interface Replay {
  readonly scheduled: number;
  readonly cursor?: string;
}

const { read, write } = operationsOf<ErrorCode>('notifications');

/** Webhooks of other users are `webhook-not-found`, like those that do not exist. */
export const notifications = {
  /** `invalid-input`, with the pointer of the field, for a URL that the shop must not call. */
  createWebhook: write<CreatedWebhook>()('createWebhook', CreateWebhook, {
    errors: ['forbidden', 'too-many-webhooks', 'idempotency-key-reused'],
    versioned: true,
  }),
  /** Answers a page. */
  listWebhooks: read<Webhook[]>()('listWebhooks', ListWebhooks, { errors: ['forbidden', 'invalid-cursor'] }),
  getWebhook: read<Webhook>()('getWebhook', GetWebhook, { errors: ['forbidden', 'webhook-not-found'], versioned: true }),
  replaceWebhook: write<Webhook>()('replaceWebhook', ReplaceWebhook, {
    errors: ['forbidden', 'webhook-not-found', 'precondition-failed'],
    versioned: true,
  }),
  /** Also drops pending and held deliveries. */
  deleteWebhook: write<{ id: string }>()('deleteWebhook', DeleteWebhook, {
    errors: ['forbidden', 'webhook-not-found', 'precondition-failed'],
  }),
  rotateWebhookSecret: write<RotatedSecret>()('rotateWebhookSecret', RotateWebhookSecret, {
    errors: ['forbidden', 'webhook-not-found', 'idempotency-key-reused'],
  }),
  testWebhook: write<Delivery>()('testWebhook', TestWebhook, {
    errors: ['forbidden', 'webhook-not-found', 'webhook-disabled', 'idempotency-key-reused'],
  }),
  /** Answers a page. */
  listDeliveries: read<Delivery[]>()('listDeliveries', ListDeliveries, {
    errors: ['forbidden', 'webhook-not-found', 'invalid-cursor'],
  }),
  /** `delivery-not-found` also for deliveries that retention has deleted. */
  resendDelivery: write<Delivery>()('resendDelivery', ResendDelivery, {
    errors: ['forbidden', 'webhook-not-found', 'delivery-not-found', 'webhook-disabled', 'idempotency-key-reused'],
  }),
  replayEvents: write<Replay>()('replayEvents', ReplayEvents, {
    errors: ['forbidden', 'webhook-not-found', 'invalid-cursor', 'idempotency-key-reused'],
  }),
};
