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
 * - `pending`: due now or later. - `held`: the endpoint is disabled; it goes on when the endpoint is enabled again.
 * - `delivered`: answered with 2xx. - `failed`: all attempts are used up, or it was held for too long.
 */
export const deliveryStates = ['pending', 'held', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

// What clients send

export class NewWebhook {
  @Pattern(/^https?:\/\/\S{1,2000}$/i, 'must be an http or https URL of at most 2,000 characters without spaces', {
    format: 'uri',
    maxLength: 2_008,
  })
  @Description('Where events are sent by POST. It must be reachable from the internet by https, unless the shop says otherwise.')
  url: string;

  @IsOptional()
  @ListOf(eventTypes.length, 1)
  @ArrayUnique({ message: 'must not repeat an event type' })
  @SomeOf(eventTypes, `must hold some of ${eventTypes.join(', ')}`)
  @Schema({ uniqueItems: true })
  @Description('Absent: `order.status_changed` alone.')
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

/** Replaces all that was set; absent filters and description are cleared. */
export class WebhookReplacement extends NewWebhook {
  @IsOptional()
  @OneOf(webhookStates)
  @Description('Absent: as it is. Events for a disabled endpoint are held for 30 days.')
  state?: WebhookState;
}

export class SecretRotation {
  @IsOptional()
  @Description('How long both secrets sign, in seconds. Absent: a day. 0: the old one ends at once.')
  @Integer(0, 2_592_000)
  graceSeconds?: number;
}

/** A stretch of the past, from a cursor or from a time. */
export class ReplayRange {
  @IsOptional()
  @Description('A cursor of the event stream, or of an earlier answer to this: events after it. Instead of `since`.')
  @Text({ max: 500 })
  fromCursor?: string;

  @IsOptional()
  @Description('Events from this time on.')
  @DateTime()
  since?: string;

  @IsOptional()
  @Description('Events before this time. Absent: until now.')
  @DateTime()
  until?: string;

  @IsOptional()
  @Flag()
  @Description('Only what has failed at this endpoint.')
  onlyFailed?: boolean;
}

// What services ask

export class CreateWebhook {
  @ObjectOf(() => NewWebhook)
  webhook: NewWebhook;
}

/** One's own, newest first. */
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

/** Sends a `webhook.test`, with the retries of any other event. */
export class TestWebhook extends WebhookRequest {}

/** Newest first. */
export class ListDeliveries extends PageRequest {
  @Uuid()
  webhookId: string;

  @IsOptional()
  @OneOf(deliveryStates)
  state?: DeliveryState;
}

/** Sends the same event, with the same id and bytes, once more, at once. */
export class ResendDelivery extends WebhookRequest {
  @Id()
  deliveryId: number;
}

export class ReplayEvents extends WebhookRequest {
  @ObjectOf(() => ReplayRange)
  replay: ReplayRange;
}

// What it answers

export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly eventTypes: readonly EventType[];
  readonly orderId?: number;
  readonly plantId?: number;
  readonly description?: string;
  readonly state: WebhookState;
  /** Why it is disabled, when nobody asked for it: it answered 410, or has failed for days. */
  readonly disabledReason?: 'gone' | 'failing';
  readonly createdAt: string;
}

/** `secret` is shown here and when it is rotated, and kept only encrypted. */
export type CreatedWebhook = Webhook & { readonly secret: string };

export interface RotatedSecret {
  readonly secret: string;
  /** Until then both sign. */
  readonly previousUntil: string;
}

export interface DeliveryAttempt {
  readonly at: string;
  /** The receiver's HTTP status, if it answered. */
  readonly status?: number;
  readonly durationMs: number;
  /** Why it was no success, for people. */
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

/** What a replay has scheduled; with `cursor` there is more, and it goes on from there. */
export interface Replay {
  readonly scheduled: number;
  readonly cursor?: string;
}

const { read, write } = operationsOf<ErrorCode>('notifications');

/** Others' webhooks are `webhook-not-found`, like those that do not exist. */
export const notifications = {
  /** A URL that may not be called is `invalid-input` with the pointer of the field. */
  createWebhook: write<CreatedWebhook>()('createWebhook', CreateWebhook, {
    errors: ['forbidden', 'too-many-webhooks', 'idempotency-key-reused'],
    versioned: true,
  }),
  /** A page. */
  listWebhooks: read<Webhook[]>()('listWebhooks', ListWebhooks, { errors: ['forbidden', 'invalid-cursor'] }),
  getWebhook: read<Webhook>()('getWebhook', GetWebhook, { errors: ['forbidden', 'webhook-not-found'], versioned: true }),
  replaceWebhook: write<Webhook>()('replaceWebhook', ReplaceWebhook, {
    errors: ['forbidden', 'webhook-not-found', 'precondition-failed'],
    versioned: true,
  }),
  /** What was not delivered is not sent any more. */
  deleteWebhook: write<{ id: string }>()('deleteWebhook', DeleteWebhook, {
    errors: ['forbidden', 'webhook-not-found', 'precondition-failed'],
  }),
  rotateWebhookSecret: write<RotatedSecret>()('rotateWebhookSecret', RotateWebhookSecret, {
    errors: ['forbidden', 'webhook-not-found', 'idempotency-key-reused'],
  }),
  testWebhook: write<Delivery>()('testWebhook', TestWebhook, {
    errors: ['forbidden', 'webhook-not-found', 'webhook-disabled', 'idempotency-key-reused'],
  }),
  /** A page. */
  listDeliveries: read<Delivery[]>()('listDeliveries', ListDeliveries, {
    errors: ['forbidden', 'webhook-not-found', 'invalid-cursor'],
  }),
  /** `delivery-not-found` also for what the retention has removed. */
  resendDelivery: write<Delivery>()('resendDelivery', ResendDelivery, {
    errors: ['forbidden', 'webhook-not-found', 'delivery-not-found', 'webhook-disabled', 'idempotency-key-reused'],
  }),
  replayEvents: write<Replay>()('replayEvents', ReplayEvents, {
    errors: ['forbidden', 'webhook-not-found', 'invalid-cursor', 'idempotency-key-reused'],
  }),
};
