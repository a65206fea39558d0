import { notifications } from '@plant-shop/contracts/notifications';
import { notificationsAnswers } from '@plant-shop/contracts/notifications.answers';
import { apiResponse, type OperationDocs, forwarded } from './operation-docs.js';

export const webhooksDocs = {
  createWebhook: {
    tag: 'Webhooks',
    summary: 'Create a webhook',
    description:
      'Sends future events of your own orders to a URL; with `read:orders`, events of all orders. The secret that signs them is returned ' +
      'only in this response. The requests to the receiver are described under `webhooks`.',
    calls: [notifications.createWebhook],
    answer: forwarded(notificationsAnswers.createWebhook),
  },
  listWebhooks: {
    tag: 'Webhooks',
    summary: 'List your webhooks',
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
      'Replaces all settings: clears the filters and the description if they are absent. Events of a disabled webhook are held, and ' +
      'sent once it is enabled again.',
    calls: [notifications.replaceWebhook],
    answer: forwarded(notificationsAnswers.replaceWebhook),
  },
  deleteWebhook: {
    tag: 'Webhooks',
    summary: 'Delete a webhook',
    description: 'Undelivered events are no longer sent.',
    calls: [notifications.deleteWebhook],
    answer: apiResponse('0190b6a2-7f00-7a11-8b22-93c4d5e6f708'),
  },
  rotateWebhookSecret: {
    tag: 'Webhooks',
    summary: "Replace a webhook's secret",
    description:
      'The new secret is returned only in this response. Until the old one expires, events are signed with both, so that receivers ' +
      'can switch without losing an event.',
    calls: [notifications.rotateWebhookSecret],
    answer: forwarded(notificationsAnswers.rotateWebhookSecret),
  },
  testWebhook: {
    tag: 'Webhooks',
    summary: 'Send a test event',
    description: 'Sends a `webhook.test`, which is signed and retried like any other event. Its delivery shows the result.',
    calls: [notifications.testWebhook],
    answer: forwarded(notificationsAnswers.testWebhook),
  },
  listDeliveries: {
    tag: 'Webhooks',
    summary: 'List the deliveries of a webhook',
    description: 'Newest first, each with its attempts.',
    calls: [notifications.listDeliveries],
    query: ['state', 'limit', 'cursor'],
    answer: forwarded(notificationsAnswers.listDeliveries),
  },
  resendDelivery: {
    tag: 'Webhooks',
    summary: 'Send an event again',
    description: 'Sends it at once, with the same id and body, as a separate delivery.',
    calls: [notifications.resendDelivery],
    answer: forwarded(notificationsAnswers.resendDelivery),
  },
  replayEvents: {
    tag: 'Webhooks',
    summary: 'Send past events again',
    description: 'From a cursor or a time on. Sends all events that match the webhook, or only those that have failed.',
    calls: [notifications.replayEvents],
    answer: forwarded(notificationsAnswers.replayEvents),
  },
} satisfies Record<string, OperationDocs>;
