import { orderPlaced, orderShipped, orderStatusChanged, refundDue, webhookTest } from '@plant-shop/contracts/events.schema';
import type { OrderPlaced, OrderShipped, OrderStatusChanged, RefundDue, WebhookTest } from '@plant-shop/contracts/events';
import type { SchemaWithComponents } from '@plant-shop/contracts/answers';
import type { Schemas } from './schemas.js';

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
  test: {
    event: 'webhook.test',
    timestamp: '2027-03-01T08:00:01.000Z',
    data: { webhookId: '0190b6a2-7f00-7a11-8b22-93c4d5e6f708' },
  } satisfies WebhookTest,
};

/** The headers of Standard Webhooks 1.0. */
const parameters = [
  header('webhook-id', 'Names the event: the same on every repetition. Whoever keeps it does nothing twice.', {
    schema: { type: 'string', format: 'uuid' },
    example: '0190b6a2-9c31-7b52-8f10-1a2b3c4d5e6f',
  }),
  header('webhook-timestamp', 'When this attempt was made, in seconds since 1970. Refuse what is older than five minutes.', {
    schema: { type: 'string', pattern: '^\\d+$' },
    example: '1803801601',
  }),
  header(
    'webhook-signature',
    'HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>` under the secret without its `whsec_`, in base64, after `v1,`. ' +
      'One for each secret that is live, with a space between; one that fits is enough.',
    { schema: { type: 'string', pattern: '^v1,\\S+( v1,\\S+)*$' }, example: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=' },
  ),
];

function header(name: string, description: string, more: object): object {
  return { name, in: 'header', required: true, description, ...more };
}

const later = (description: string): object => ({
  description,
  headers: {
    'Retry-After': { description: 'Honoured: seconds or a date.', schema: { type: 'string' }, example: '120' },
  },
});

const responses = {
  '2XX': { description: 'Taken, within 15 seconds. What the body says is not looked at.' },
  '410': { description: 'Not wanted any more: the webhook is disabled at once, and its events are held.' },
  '429': later('Too much at once: it is sent again not before Retry-After (a day at most), and until then nothing else is (an hour at most).'),
  '503': later('Not now: it is sent again not before Retry-After (a day at most), and until then nothing else is (an hour at most).'),
  default: {
    description:
      'Anything else, redirects too, is a failure, as is no answer within 15 seconds. It is repeated after 5 s, 5 min, 30 min, ' +
      '2 h, 5 h, 10 h, 14 h, 20 h and 24 h. Later events of the same order wait for it; those of other orders do not.',
  },
};

const sameAsStream = 'At least once and, for each order, in order. The body is the event as the stream has it, byte for byte';

/** `webhooks` of the document: what receivers get, and what their answers mean. Source: apps/notifications/README.md, "Webhooks". */
export const webhookEvents = (schemas: Schemas): object => ({
  'order.status_changed': posted({
    operationId: 'orderStatusChanged',
    summary: 'The status of an order has changed',
    description: `${sameAsStream}; placing an order is not a change.`,
    schema: schemas.ofAnswer(orderStatusChanged.plain),
    example: examples.statusChanged,
  }),
  'order.placed': posted({
    operationId: 'orderPlaced',
    summary: 'An order was placed',
    description: `For webhooks whose \`eventTypes\` name it. ${sameAsStream}.`,
    schema: schemas.ofAnswer(orderPlaced.plain),
    example: examples.placed,
  }),
  'order.shipped': posted({
    operationId: 'orderShipped',
    summary: 'A shipment was reported',
    description: `For webhooks whose \`eventTypes\` name it. A later report replaces carrier and tracking number. ${sameAsStream}.`,
    schema: schemas.ofAnswer(orderShipped.plain),
    example: examples.shipped,
  }),
  'refund.due': posted({
    operationId: 'refundDue',
    summary: 'Money is owed back',
    description:
      `For webhooks whose \`eventTypes\` name it. A payment came for an order that takes none any more; ` +
      `\`GET /store/refund/{refundId}\` shows the refund. ${sameAsStream}.`,
    schema: schemas.ofAnswer(refundDue.plain),
    example: examples.refundDue,
  }),
  'webhook.test': posted({
    operationId: 'webhookTest',
    summary: 'The owner of the webhook tries it',
    description: 'Sent when `POST /webhooks/{webhookId}/test` asks for it, whatever event types were chosen.',
    schema: schemas.ofAnswer(webhookTest),
    example: examples.test,
  }),
});

interface Sent {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly schema: SchemaWithComponents['json'];
  readonly example: unknown;
}

const posted = ({ schema, example, ...said }: Sent): object => ({
  post: {
    ...said,
    tags: ['Webhooks'],
    security: [],
    parameters,
    requestBody: { required: true, content: { 'application/json': { schema, example } } },
    responses,
  },
});
