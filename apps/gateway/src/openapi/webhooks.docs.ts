import { notifications } from '@plant-shop/contracts/notifications';
import { notificationsAnswers } from '@plant-shop/contracts/notifications.answers';
import { apiResponse, type OperationDocs, forwarded } from './operation-docs.js';

export const webhooksDocs = {
  createWebhook: {
    tag: 'Webhooks',
    summary: 'Have events sent to an address',
    description:
      "Events of one's own orders from now on; with `read:orders`, of all. The secret that signs them is shown only in this " +
      'answer. What the receiver gets is described under `webhooks`.',
    calls: [notifications.createWebhook],
    answer: forwarded(notificationsAnswers.createWebhook),
  },
  listWebhooks: {
    tag: 'Webhooks',
    summary: "List one's own webhooks",
    description: 'Newest first, without their secrets.',
    calls: [notifications.listWebhooks],
    query: ['limit', 'cursor'],
    answer: forwarded(notificationsAnswers.listWebhooks),
  },
  getWebhook: {
    tag: 'Webhooks',
    summary: 'Read a webhook',
    calls: [notifications.getWebhook],
    answer: forwarded(notificationsAnswers.getWebhook),
  },
  replaceWebhook: {
    tag: 'Webhooks',
    summary: 'Change, disable or enable a webhook',
    description:
      'Replaces all that was set: absent filters and an absent description are cleared. While it is disabled, its events are ' +
      'held; once it is enabled again they are sent.',
    calls: [notifications.replaceWebhook],
    answer: forwarded(notificationsAnswers.replaceWebhook),
  },
  deleteWebhook: {
    tag: 'Webhooks',
    summary: 'Delete a webhook',
    description: 'What was not delivered is not sent any more.',
    calls: [notifications.deleteWebhook],
    answer: apiResponse('0190b6a2-7f00-7a11-8b22-93c4d5e6f708'),
  },
  rotateWebhookSecret: {
    tag: 'Webhooks',
    summary: 'Replace the secret',
    description:
      'The new secret is shown only in this answer. Until the old one ends, both sign: receivers change over without losing ' +
      'an event.',
    calls: [notifications.rotateWebhookSecret],
    answer: forwarded(notificationsAnswers.rotateWebhookSecret),
  },
  testWebhook: {
    tag: 'Webhooks',
    summary: 'Send a test event',
    description: 'A `webhook.test`, signed and repeated like any other event. Its delivery tells how it went.',
    calls: [notifications.testWebhook],
    answer: forwarded(notificationsAnswers.testWebhook),
  },
  listDeliveries: {
    tag: 'Webhooks',
    summary: 'List what was sent, and how it went',
    description: 'Newest first, each with its attempts.',
    calls: [notifications.listDeliveries],
    query: ['state', 'limit', 'cursor'],
    answer: forwarded(notificationsAnswers.listDeliveries),
  },
  resendDelivery: {
    tag: 'Webhooks',
    summary: 'Send one event again',
    description: 'At once, with the same id and bytes, as a delivery of its own.',
    calls: [notifications.resendDelivery],
    answer: forwarded(notificationsAnswers.resendDelivery),
  },
  replayEvents: {
    tag: 'Webhooks',
    summary: 'Send a stretch of the past again',
    description: 'From a cursor or from a time; all events that the webhook would get, or only those that have failed.',
    calls: [notifications.replayEvents],
    answer: forwarded(notificationsAnswers.replayEvents),
  },
} satisfies Record<string, OperationDocs>;
