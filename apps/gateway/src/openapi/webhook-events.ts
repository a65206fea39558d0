import { orderPlaced, orderShipped, orderStatusChanged, refundDue, stockBack, stockLow, stockOut, webhookTest } from '@plant-shop/contracts/events.schema';
import type { OrderPlaced, OrderShipped, OrderStatusChanged, RefundDue, StockEvent, WebhookTest } from '@plant-shop/contracts/events';
import type { SchemaWithComponents } from '@plant-shop/contracts/answers';
import type { Schemas } from './components.js';

const examples = {
  statusChanged: {
    event: 'order.status_changed',
    timestamp: '2027-03-01T08:00:01.000Z',
    data: { orderId: 1_000_000_001, plantId: 7, previousStatus: 'placed', newStatus: 'approved', trackingNumber: 'PS0000001000000001' },
  } satisfies OrderStatusChanged,
  placed: {
    event: 'order.placed',
    timestamp: '2027-03-01T08:00:00.000Z',
    data: { orderId: 1_000_000_001, plantId: 7, quantity: 2, reservedUntil: '2027-03-01T08:15:00.000Z' },
  } satisfies OrderPlaced,
  shipped: {
    event: 'order.shipped',
    timestamp: '2027-03-01T09:30:00.000Z',
    data: { orderId: 1_000_000_001, plantId: 7, carrier: 'Green Post', trackingNumber: 'GP-0042' },
  } satisfies OrderShipped,
  refundDue: {
    event: 'refund.due',
    timestamp: '2027-03-01T08:20:00.000Z',
    data: { refundId: 31, orderId: 1_000_000_001, plantId: 7 },
  } satisfies RefundDue,
  stockLow: { event: 'stock.low', timestamp: '2027-03-01T08:00:00.000Z', data: { plantId: 7, free: 3, lowStockAt: 5 } } satisfies StockEvent,
  stockOut: { event: 'stock.out', timestamp: '2027-03-01T08:10:00.000Z', data: { plantId: 7, free: 0, lowStockAt: 5 } } satisfies StockEvent,
  stockBack: { event: 'stock.back', timestamp: '2027-03-01T08:30:00.000Z', data: { plantId: 7, free: 12, lowStockAt: 5 } } satisfies StockEvent,
  test: {
    event: 'webhook.test',
    timestamp: '2027-03-01T08:00:01.000Z',
    data: { webhookId: '0190b6a2-7f00-7a11-8b22-93c4d5e6f708' },
  } satisfies WebhookTest,
};

/** The headers of Standard Webhooks 1.0. */
const parameters = [
  header('webhook-id', 'The id of the event, the same in every attempt. Store it to recognise duplicates.', {
    schema: { type: 'string', format: 'uuid' },
    example: '0190b6a2-9c31-7b52-8f10-1a2b3c4d5e6f',
  }),
  header('webhook-timestamp', 'The time of this attempt, in seconds since 1970. Refuse requests that are older than five minutes.', {
    schema: { type: 'string', pattern: '^\\d+$' },
    example: '1803801601',
  }),
  header(
    'webhook-signature',
    '`v1,` and the base64 HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`, with the secret without its prefix `whsec_` as ' +
      'key. Contains a signature per valid secret, separated by spaces; accept the request if one of them matches.',
    { schema: { type: 'string', pattern: '^v1,\\S+( v1,\\S+)*$' }, example: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=' },
  ),
];

function header(name: string, description: string, more: object): object {
  return { name, in: 'header', required: true, description, ...more };
}

const retryLater = (description: string): object => ({
  description,
  headers: {
    'Retry-After': { description: 'In seconds or as a date.', schema: { type: 'string' }, example: '120' },
  },
});

const pause =
  'The event is not sent again before Retry-After (at most a day), nor are other events sent to the webhook until then (at most an hour).';

const responses = {
  '2XX': { description: 'Received. Must arrive within 15 seconds; the body is ignored.' },
  '410': { description: 'No longer wanted. The webhook is disabled at once, and its events are held.' },
  '429': retryLater(`Too many requests. ${pause}`),
  '503': retryLater(`Temporarily unavailable. ${pause}`),
  default: {
    description:
      'Any other status, including redirects, is a failure, as is no response within 15 seconds. The event is sent again after 5 s, ' +
      '5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h. Later events of the same order wait for it; those of other orders do not.',
  },
};

const delivery = 'Delivered at least once; events of the same order arrive in sequence. The body is identical to the event in the stream';
const byChoice = 'Sent to webhooks whose `eventTypes` include it.';
const ofStock = 'Needs `read:stock`. Delivered at least once, in any order: compare the timestamps.';

/** `webhooks` of the document: what receivers get, and what their responses mean. apps/notifications/README.md, "Webhooks", has limits and targets. */
export const webhookEvents = (schemas: Schemas): object => ({
  'order.status_changed': posted({
    operationId: 'orderStatusChanged',
    summary: 'The status of an order has changed',
    description: `${delivery}. Placing an order is not a change of status.`,
    schema: schemas.ofAnswer(orderStatusChanged.plain),
    example: examples.statusChanged,
  }),
  'order.placed': posted({
    operationId: 'orderPlaced',
    summary: 'An order was placed',
    description: `${byChoice} ${delivery}.`,
    schema: schemas.ofAnswer(orderPlaced.plain),
    example: examples.placed,
  }),
  'order.shipped': posted({
    operationId: 'orderShipped',
    summary: 'A shipment was reported',
    description: `${byChoice} A later report replaces carrier and tracking number. ${delivery}.`,
    schema: schemas.ofAnswer(orderShipped.plain),
    example: examples.shipped,
  }),
  'refund.due': posted({
    operationId: 'refundDue',
    summary: 'A refund is due',
    description:
      `${byChoice} A payment arrived for an order that is cancelled or already paid; ` +
      `\`GET /store/refund/{refundId}\` returns the refund. ${delivery}.`,
    schema: schemas.ofAnswer(refundDue.plain),
    example: examples.refundDue,
  }),
  'stock.low': posted({
    operationId: 'stockLow',
    summary: 'A plant is low on stock',
    description: `${byChoice} Its free units fell to its \`lowStockAt\` or below. ${ofStock}`,
    schema: schemas.ofAnswer(stockLow.plain),
    example: examples.stockLow,
  }),
  'stock.out': posted({
    operationId: 'stockOut',
    summary: 'A plant is out of stock',
    description: `${byChoice} Its last free unit is gone. ${ofStock}`,
    schema: schemas.ofAnswer(stockOut.plain),
    example: examples.stockOut,
  }),
  'stock.back': posted({
    operationId: 'stockBack',
    summary: 'A plant is in stock again',
    description: `${byChoice} ${ofStock}`,
    schema: schemas.ofAnswer(stockBack.plain),
    example: examples.stockBack,
  }),
  'webhook.test': posted({
    operationId: 'webhookTest',
    summary: 'A test of the webhook',
    description: 'Sent on `POST /webhooks/{webhookId}/test`, regardless of `eventTypes`.',
    schema: schemas.ofAnswer(webhookTest),
    example: examples.test,
  }),
});

interface WebhookEvent {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly schema: SchemaWithComponents['json'];
  readonly example: unknown;
}

const posted = ({ schema, example, ...texts }: WebhookEvent): object => ({
  post: {
    ...texts,
    tags: ['Webhooks'],
    security: [],
    parameters,
    requestBody: { required: true, content: { 'application/json': { schema, example } } },
    responses,
  },
});
