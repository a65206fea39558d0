import { id, instant, meaning, objectOf, oneOf, text, uuid } from './answers.js';
import type { OrderStatusChanged, WebhookTest } from './events.js';
import { orderStatuses } from './store.js';

export const orderStatusChange = objectOf<OrderStatusChanged['data']>('OrderStatusChange')({
  orderId: id,
  plantId: id,
  previousStatus: oneOf(orderStatuses),
  newStatus: oneOf(orderStatuses),
  trackingNumber: meaning(text(200), 'Empty until there is one.'),
});

/** As every client gets it, by whichever way. */
export const orderStatusChanged = objectOf<OrderStatusChanged>('OrderStatusChanged')({
  event: oneOf(['order.status_changed']),
  timestamp: meaning(instant, 'When the status changed.'),
  data: orderStatusChange,
});

/** To try a webhook with; no order moves. */
export const webhookTest = objectOf<WebhookTest>('WebhookTest')({
  event: oneOf(['webhook.test']),
  timestamp: meaning(instant, 'When the test was asked for.'),
  data: objectOf<WebhookTest['data']>('WebhookTestData')({ webhookId: uuid }),
});
