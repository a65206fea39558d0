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

const secret = described(text(), 'Signs what is sent (Standard Webhooks). It is shown only here and kept only encrypted.');

const webhookMembers = {
  id: uuid,
  url: text(2_008),
  eventTypes: listOf(oneOf<EventType>(eventTypes)),
  orderId: optional(id),
  plantId: optional(id),
  description: optional(text(1_000)),
  state: oneOf<WebhookState>(webhookStates),
  disabledReason: optional(
    described(oneOf<'gone' | 'failing'>(['gone', 'failing']), 'When nobody asked for it: it answered 410, or has failed for days.'),
  ),
  createdAt: instant,
};
const webhook = objectOf<Webhook>('Webhook')(webhookMembers);
const createdWebhook = objectOf<CreatedWebhook>('CreatedWebhook')({ ...webhookMembers, secret });

const attempt = objectOf<DeliveryAttempt>('DeliveryAttempt')({
  at: instant,
  status: optional(described(integer(100, 599), "The receiver's HTTP status, if it answered.")),
  durationMs: integer(0),
  error: optional(described(text(), 'Why it was no success.')),
});
const delivery = objectOf<Delivery>('Delivery')({
  id,
  eventId: described(uuid, 'What the receiver saw as webhook-id.'),
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
    previousUntil: described(instant, 'Until then both secrets sign.'),
  }),
  testWebhook: delivery,
  listDeliveries: listOf(delivery),
  resendDelivery: delivery,
  replayEvents: objectOf<Replay>('Replay')({
    scheduled: integer(0),
    cursor: optional(described(text(500), 'There is more: send it as fromCursor to go on.')),
  }),
} satisfies AnswersOf<typeof notifications>;
