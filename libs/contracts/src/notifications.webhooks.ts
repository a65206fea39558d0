import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { permission } from './permissions.js';
import { type AnswerOf, boolean, described, id, instant, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import type { Account } from './broker.js';
import { forClientsUnder, jsonObject, message } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { type EventType, eventTypes } from './events.js';
import { ExpectedVersion, Flag, Id, Integer, ListOf, Name, ObjectOf, OneOf, PageRequest, Pattern, SomeOf, Text, Unique, Uuid } from './fields.js';
import { Description } from './schema.js';
import { type OrderStatus, orderStatuses } from './store.orders.js';

// Webhooks of a user. Those of other users are `webhook-not-found`, like those that do not exist, except for who may read them (`manage:orders`).

export const webhookStates = ['enabled', 'disabled'] as const;
export type WebhookState = (typeof webhookStates)[number];

// Sent by clients

/** Which events a receiver gets. */
export class EventFilter {
  @IsOptional()
  @ListOf(eventTypes.length, 1)
  @Unique('must not repeat an event type')
  @SomeOf(eventTypes, `must contain only values from ${eventTypes.join(', ')}`)
  @Description('Default: only `order.status_changed`. Stock events need `read:stock`.')
  eventTypes?: EventType[];

  @IsOptional()
  @Id()
  @Description('Only events of orders of this plant.')
  plantId?: number;

  @IsOptional()
  @ListOf(orderStatuses.length, 1)
  @Unique('must not repeat a status')
  @SomeOf(orderStatuses, `must contain only values from ${orderStatuses.join(', ')}`)
  @Description('Only status changes to one of these; events of other types pass.')
  newStatuses?: OrderStatus[];
}

export class NewWebhook extends EventFilter {
  @Pattern(/^https?:\/\/\S{1,2000}$/i, 'must be an http or https URL of at most 2,000 characters without spaces', {
    format: 'uri',
    maxLength: 2_008,
  })
  @Description('Receives events by POST. Must be an https address reachable from the internet, unless the shop is configured otherwise.')
  url: string;

  @IsOptional()
  @Name({ max: 100 })
  @Description('For people, to tell it from other webhooks.')
  name?: string;

  @IsOptional()
  @Id()
  @Description('Only events of this order.')
  orderId?: number;

  @IsOptional()
  @Name({ max: 1_000 })
  description?: string;
}

/** Replaces all settings. Absent filters, an absent name and an absent description are cleared. */
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

// Requests

export class CreateWebhook {
  @ObjectOf(() => NewWebhook)
  webhook: NewWebhook;
}

/** Lists webhooks, newest first. */
export class ListWebhooks extends PageRequest {
  @IsOptional()
  @Text()
  @Description("A username, or `*` for all users; requires `manage:orders`. Default: the caller's own webhooks.")
  owner?: string;

  @IsOptional()
  @Flag()
  @Description('`true`: whose last attempt failed, or that the shop disabled. `false`: the others.')
  failing?: boolean;
}

/** Sent by identity for a user who downloads their own data. */
export class ListWebhooksOf extends PageRequest {
  @Uuid()
  userId: string;
}

export class WebhookRequest {
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

const secret = described(text(), 'Signs deliveries (Standard Webhooks). It is returned only once and stored only encrypted.');

const webhookMembers = {
  id: uuid,
  url: text(2_008),
  name: optional(text(100)),
  eventTypes: listOf(oneOf<EventType>(eventTypes)),
  orderId: optional(id),
  plantId: optional(id),
  newStatuses: optional(listOf(oneOf<OrderStatus>(orderStatuses))),
  description: optional(text(1_000)),
  state: oneOf<WebhookState>(webhookStates),
  disabledReason: optional(
    described(
      oneOf<'gone' | 'failing'>(['gone', 'failing']),
      'Present if the shop disabled the webhook: it answered 410 (`gone`), or failed for days (`failing`).',
    ),
  ),
  behind: optional(described(boolean, 'True if so many events wait for it that it can get no replay.')),
  failingSince: optional(described(instant, 'Present if the last attempt failed: when the first one failed since the last success.')),
  lastError: optional(described(text(1_000), 'Present if the last attempt failed: why, in words. The same as the `error` of that attempt.')),
  owner: optional(described(text(64), "The owner's username: only in lists with `owner`, and of another user's webhook.")),
  createdAt: instant,
};
const webhookAnswer = objectOf('Webhook')(webhookMembers);

// Answers
export type Webhook = AnswerOf<typeof webhookAnswer>;
const createdWebhookAnswer = objectOf('CreatedWebhook')({ ...webhookMembers, secret });

/** `secret` is returned here and on rotation, and stored only encrypted. */
export type CreatedWebhook = AnswerOf<typeof createdWebhookAnswer>;

const rotatedSecretAnswer = objectOf('RotatedSecret')({
  secret,
  previousUntil: described(instant, 'Until then deliveries are signed with both secrets.'),
});

export type RotatedSecret = AnswerOf<typeof rotatedSecretAnswer>;

const { read, write } = operationsOf<ErrorCode, Account>('notifications');
const forClients = forClientsUnder('Webhooks');

export const webhookOperations = {
  /** `invalid-input`, with the pointer of the field, for a URL that the shop must not call. */
  createWebhook: forClients(
    write<CreatedWebhook>()('createWebhook', CreateWebhook, {
      errors: ['forbidden', 'too-many-webhooks', 'idempotency-key-reused'],
      versioned: true,
    }),
    {
      route: 'POST /v3/webhooks',
      access: permission('webhooks'),
      summary: 'Create a webhook',
      description:
        'Sends future events of your own orders to a URL; with `read:orders`, events of all orders. The secret that signs them is returned ' +
        'only in this response. The requests to the receiver are described under `webhooks`.',
      body: jsonObject('webhook'),
      answer: createdWebhookAnswer,
    },
  ),
  /** Answers a page. */
  listWebhooks: forClients(
    read<Webhook[]>()('listWebhooks', ListWebhooks, { errors: ['forbidden', 'invalid-cursor', 'user-not-found'] }),
    {
      route: 'GET /v3/webhooks',
      access: permission('webhooks'),
      summary: 'List webhooks',
      description:
        'Newest first, without their secrets: your own, or with `manage:orders` those of the given `owner`, or of all users (`*`). Whoever may list ' +
        'the webhooks of others may also read them and their deliveries. Only owners change or use them.',
      query: ['owner', 'failing', 'limit', 'cursor'],
      answer: listOf(webhookAnswer, 1_000),
    },
  ),
  /** Answers a page, newest first. */
  listWebhooksOf: read<Webhook[]>()('listWebhooksOf', ListWebhooksOf, { callers: ['identity'], errors: ['invalid-cursor'] }),
  getWebhook: forClients(
    read<Webhook>()('getWebhook', GetWebhook, { errors: ['forbidden', 'webhook-not-found'], versioned: true }),
    {
      route: 'GET /v3/webhooks/:webhookId',
      access: permission('webhooks'),
      summary: 'Read a webhook',
      answer: webhookAnswer,
    },
  ),
  replaceWebhook: forClients(
    write<Webhook>()('replaceWebhook', ReplaceWebhook, {
      errors: ['forbidden', 'webhook-not-found', 'precondition-failed'],
      versioned: true,
    }),
    {
      route: 'PUT /v3/webhooks/:webhookId',
      access: permission('webhooks'),
      summary: 'Change, disable or enable a webhook',
      description:
        'Replaces all settings: clears the filters, the name and the description if they are absent. Events of a disabled webhook are held, and ' +
        'sent once it is enabled again. A webhook that was created with `read:orders` is changed only with it.',
      body: jsonObject('webhook'),
      answer: webhookAnswer,
    },
  ),
  /** Also drops pending and held deliveries. */
  deleteWebhook: forClients(
    write<{ id: string }>()('deleteWebhook', DeleteWebhook, {
      errors: ['forbidden', 'webhook-not-found', 'precondition-failed'],
    }),
    {
      route: 'DELETE /v3/webhooks/:webhookId',
      access: permission('webhooks'),
      summary: 'Delete a webhook',
      description: 'Undelivered events are no longer sent.',
      answer: message('id', '0190b6a2-7f00-7a11-8b22-93c4d5e6f708'),
    },
  ),
  rotateWebhookSecret: forClients(
    write<RotatedSecret>()('rotateWebhookSecret', RotateWebhookSecret, {
      errors: ['forbidden', 'webhook-not-found', 'idempotency-key-reused'],
    }),
    {
      route: 'POST /v3/webhooks/:webhookId/rotateSecret',
      access: permission('webhooks'),
      summary: "Replace a webhook's secret",
      description:
        'The new secret is returned only in this response. Until the old one expires, events are signed with both, so that receivers ' +
        'can switch without losing an event.',
      body: jsonObject('rotation'),
      answer: rotatedSecretAnswer,
    },
  ),
};
