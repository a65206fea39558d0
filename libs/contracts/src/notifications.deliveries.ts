import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { permission } from './permissions.js';
import { type AnswerOf, boolean, described, id, instant, integer, listOf, metadata, objectOf, oneOf, optional, text, uuid } from './answers.js';
import { forClientsUnder, jsonObject } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { DateTime, Flag, Id, ObjectOf, OneOf, PageRequest, Text, Uuid } from './fields.js';
import { WebhookRequest } from './notifications.webhooks.js';
import { Description } from './schema.js';

// What a webhook was sent, and what to send it again.

/**
 * - `pending`: due now or later.
 * - `held`: the endpoint is disabled; delivery continues when it is enabled again.
 * - `delivered`: answered with 2xx.
 * - `failed`: all attempts failed, or it was held for too long.
 */
export const deliveryStates = ['pending', 'held', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

// Sent by clients

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

  @IsOptional()
  @Id()
  @Description('Only events of this order.')
  orderId?: number;
}

// Requests

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

class DeliveryRequest extends WebhookRequest {
  @Id()
  deliveryId: number;
}

export class GetDelivery extends DeliveryRequest {}

/** Sends the event again at once, with the same id and bytes. */
export class ResendDelivery extends DeliveryRequest {}

export class ReplayEvents extends WebhookRequest {
  @ObjectOf(() => ReplayRange)
  replay: ReplayRange;
}

/** Counts what `ReplayEvents` with the same range would send. */
export class PreviewReplay extends ReplayRange {
  @Uuid()
  webhookId: string;
}

const attemptMembers = {
  at: instant,
  status: optional(described(integer(100, 599), "The receiver's HTTP status, if it answered.")),
  durationMs: integer(0),
  error: optional(described(text(1_000), 'Why the attempt failed.')),
};
const attempt = objectOf('DeliveryAttempt')(attemptMembers);

// Answers
export type DeliveryAttempt = AnswerOf<typeof attempt>;
const deliveryMembers = {
  id,
  eventId: described(uuid, 'The webhook-id that the receiver gets.'),
  eventType: optional(described(text(100), 'Type of the event; `webhook.test` for a test.')),
  orderId: optional(described(id, 'Absent for an event without an order.')),
  createdAt: optional(described(instant, 'When the event was logged; of a test, a resend or a replay: when it was asked for.')),
  state: oneOf<DeliveryState>(deliveryStates),
  attempts: listOf(attempt),
  nextAttemptAt: optional(instant),
  attemptsLeft: optional(described(integer(1), 'Most attempts that follow, with the one under way. Only of a pending or held one.')),
};
const deliveryAnswer = objectOf('Delivery')(deliveryMembers);

export type Delivery = AnswerOf<typeof deliveryAnswer>;

const headers = described(metadata, 'By lower-case name. Signatures and secrets are redacted.');
const response = objectOf('DeliveryResponse')({
  headers,
  body: described(text(4_096), 'Its beginning, with secrets redacted.'),
  truncated: optional(described(boolean, 'True if the body was longer, or did not end.')),
});

/** What the receiver answered to an attempt that failed. */
export type DeliveryResponse = AnswerOf<typeof response>;
const attemptDetails = objectOf('DeliveryAttemptDetails')({
  ...attemptMembers,
  request: optional(
    described(
      objectOf('DeliveryAttemptRequest')({ headers: described(metadata, 'By lower-case name. Signatures are those by secrets that the webhook still has.') }),
      "What the attempt sent with the delivery's body; absent like the delivery's `request`.",
    ),
  ),
  response: optional(
    described(response, 'Of the answer: ids of the request and up to 200 characters of the body; of a failure some more headers, and 400 characters. Absent if it had none of them.'),
  ),
});

const deliveryDetailsAnswer = objectOf('DeliveryDetails')({
  ...deliveryMembers,
  attempts: listOf(attemptDetails),
  request: optional(
    described(
      objectOf('DeliveryRequest')({ headers, body: text() }),
      "The last attempt's request. Absent before the first attempt, for other users' orders without `read:orders`, and for stock events without `read:stock`.",
    ),
  ),
  response: optional(described(response, "The answer to it, with a status from 300 on; absent like the request.")),
});

export type DeliveryDetails = AnswerOf<typeof deliveryDetailsAnswer>;

const replayAnswer = objectOf('Replay')({
  scheduled: integer(0),
  cursor: optional(described(text(500), 'Present if there are more events: send it as fromCursor to continue.')),
});

/** The result of a replay. With `cursor` there are more events: call again from there. */
export type Replay = AnswerOf<typeof replayAnswer>;

const { read, write } = operationsOf<ErrorCode>('notifications');
const forClients = forClientsUnder('Webhooks');

export const deliveryOperations = {
  testWebhook: forClients(
    write<Delivery>()('testWebhook', TestWebhook, {
      errors: ['forbidden', 'webhook-not-found', 'webhook-disabled', 'too-many-deliveries', 'idempotency-key-reused'],
    }),
    {
      route: 'POST /v3/webhooks/:webhookId/test',
      access: permission('webhooks'),
      summary: 'Send a test event',
      description: 'Sends a `webhook.test`, which is signed and retried like any other event. Its delivery shows the result.',
      answer: deliveryAnswer,
    },
  ),
  /** Answers a page. */
  listDeliveries: forClients(
    read<Delivery[]>()('listDeliveries', ListDeliveries, {
      errors: ['forbidden', 'webhook-not-found', 'invalid-cursor'],
    }),
    {
      route: 'GET /v3/webhooks/:webhookId/deliveries',
      access: permission('webhooks'),
      summary: 'List the deliveries of a webhook',
      description: 'Newest first, each with its attempts.',
      query: ['state', 'limit', 'cursor'],
      answer: listOf(deliveryAnswer, 1_000),
    },
  ),
  getDelivery: forClients(
    read<DeliveryDetails>()('getDelivery', GetDelivery, { errors: ['forbidden', 'webhook-not-found', 'delivery-not-found'] }),
    {
      route: 'GET /v3/webhooks/:webhookId/deliveries/:deliveryId',
      access: permission('webhooks'),
      summary: 'Read a delivery',
      description: "With each attempt's request and the beginning of its answer, and more of the last answer if it was no 2xx.",
      answer: deliveryDetailsAnswer,
    },
  ),
  /** `delivery-not-found` also for deliveries that retention has deleted. */
  resendDelivery: forClients(
    write<Delivery>()('resendDelivery', ResendDelivery, {
      errors: ['forbidden', 'webhook-not-found', 'delivery-not-found', 'webhook-disabled', 'too-many-deliveries', 'idempotency-key-reused'],
    }),
    {
      route: 'POST /v3/webhooks/:webhookId/deliveries/:deliveryId/resend',
      access: permission('webhooks'),
      summary: 'Send an event again',
      description: 'Sends it at once, with the same id and body, as a separate delivery.',
      answer: deliveryAnswer,
    },
  ),
  replayEvents: forClients(
    write<Replay>()('replayEvents', ReplayEvents, {
      errors: ['forbidden', 'webhook-not-found', 'invalid-cursor', 'replay-in-progress', 'too-many-deliveries', 'idempotency-key-reused'],
    }),
    {
      route: 'POST /v3/webhooks/:webhookId/replay',
      access: permission('webhooks'),
      summary: 'Send past events again',
      description: 'From a cursor or a time on. Sends all events that match the webhook, or only those that have failed. One replay at a time for each webhook.',
      body: jsonObject('replay'),
      answer: replayAnswer,
    },
  ),
  /** `invalid-cursor`: of another stream. */
  previewReplay: forClients(
    read<Replay>()('previewReplay', PreviewReplay, { errors: ['forbidden', 'webhook-not-found', 'invalid-cursor'] }),
    {
      route: 'GET /v3/webhooks/:webhookId/replay',
      access: permission('webhooks'),
      summary: 'Count the events that a replay would send',
      description: 'Sends nothing. Answers what the same range would schedule now if nothing of the webhook or its owner were waiting.',
      query: ['fromCursor', 'since', 'until', 'onlyFailed', 'orderId'],
      answer: replayAnswer,
    },
  ),
};
