import { type AnswersOf, described, id, instant, integer, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import { type EventType, eventTypes } from './events.js';
import {
  type CreatedWebhook,
  type Delivery,
  type DeliveryAttempt,
  type DeliveryState,
  deliveryStates,
  type notifications,
  type Replay,
  type RotatedSecret,
  type Webhook,
  type WebhookState,
  webhookStates,
} from './notifications.js';

const secret = described(text(), 'Signs deliveries (Standard Webhooks). It is returned only once and stored only encrypted.');

const webhookMembers = {
  id: uuid,
  url: text(2_008),
  eventTypes: listOf(oneOf<EventType>(eventTypes)),
  orderId: optional(id),
  plantId: optional(id),
  description: optional(text(1_000)),
  state: oneOf<WebhookState>(webhookStates),
  disabledReason: optional(
    described(
      oneOf<'gone' | 'failing'>(['gone', 'failing']),
      'Present if the shop disabled the webhook: it answered 410 (`gone`), or failed for days (`failing`).',
    ),
  ),
  createdAt: instant,
};
const webhook = objectOf<Webhook>('Webhook')(webhookMembers);
const createdWebhook = objectOf<CreatedWebhook>('CreatedWebhook')({ ...webhookMembers, secret });

const attempt = objectOf<DeliveryAttempt>('DeliveryAttempt')({
  at: instant,
  status: optional(described(integer(100, 599), "The receiver's HTTP status, if it answered.")),
  durationMs: integer(0),
  error: optional(described(text(), 'Why the attempt failed.')),
});
const delivery = objectOf<Delivery>('Delivery')({
  id,
  eventId: described(uuid, 'The webhook-id that the receiver gets.'),
  orderId: optional(described(id, 'Absent for a webhook.test.')),
  state: oneOf<DeliveryState>(deliveryStates),
  attempts: listOf(attempt),
  nextAttemptAt: optional(instant),
});

export const notificationsAnswers = {
  createWebhook: createdWebhook,
  listWebhooks: listOf(webhook),
  getWebhook: webhook,
  replaceWebhook: webhook,
  rotateWebhookSecret: objectOf<RotatedSecret>('RotatedSecret')({
    secret,
    previousUntil: described(instant, 'Until then deliveries are signed with both secrets.'),
  }),
  testWebhook: delivery,
  listDeliveries: listOf(delivery),
  resendDelivery: delivery,
  replayEvents: objectOf<Replay>('Replay')({
    scheduled: integer(0),
    cursor: optional(described(text(500), 'Present if there are more events: send it as fromCursor to continue.')),
  }),
} satisfies AnswersOf<typeof notifications>;
