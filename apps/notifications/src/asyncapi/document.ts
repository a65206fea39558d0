import { described, instant, objectOf, oneOf, text, type SchemaWithComponents } from '@plant-shop/contracts/answers';
import { defaultEventType, type EventType, eventTypes, type OrderEvent } from '@plant-shop/contracts/events';
import { orderPlaced, orderShipped, orderStatusChanged, refundDue, webhookTest } from '@plant-shop/contracts/events.schema';
import { sampleOf } from '@plant-shop/contracts/samples';
import { store } from '@plant-shop/contracts/store';
import { encodeCursor } from '../log/cursor.js';
import type { GapReason } from '../log/log-entry.js';

// What clients are pushed, as AsyncAPI 3.0. The tests hold against it what was really sent.

const description = `Every change of an order's status, at least once, in order per order, and with the same id and bytes on every way.

Other event types are opt-in, by the parameter \`types\` of the stream and the \`eventTypes\` of a webhook:

| type | when |
|---|---|
| \`order.status_changed\` | the status of an order changes. A client that names no types gets this one alone |
| \`order.placed\` | an order is placed |
| \`order.shipped\` | a shipment is reported, each time |
| \`refund.due\` | a payment came too late or twice, and is owed back |

All types share one log: an order's events come in the order in which they happened, whatever their types, and a cursor is a position among
all of them. A client may connect with the same cursor and other types.

- **WebSocket** at \`/v1/orders/updates\`. By default a frame is the event and nothing else. With \`cursor\`, or the subprotocol
  \`orders.v1.resumable\`, it also has \`id\` and \`cursor\`; who connects with the last cursor gets every later event once.
- **Server-Sent Events** at the same address (\`Accept: text/event-stream\`, \`Last-Event-ID\`), and pages of JSON (plain \`GET\`).
- **Webhooks** (Standard Webhooks 1.0) are set up with the HTTP API, \`POST /v3/webhooks\`.

A principal sees the events of its own orders; with \`read:orders\`, of all.`;

const cursor = described(text(500), 'Opaque. Connect with the last one, and every later event follows once.');

/** What each type is called in the document, and what is sent of it. */
const types = {
  'order.status_changed': { name: 'OrderStatusChanged', ...orderStatusChanged },
  'order.placed': { name: 'OrderPlaced', ...orderPlaced },
  'order.shipped': { name: 'OrderShipped', ...orderShipped },
  'refund.due': { name: 'RefundDue', ...refundDue },
} satisfies Record<EventType, object>;

/** Why events that were once there, or may have been, are missing before the next one. */
interface StreamGap {
  readonly event: 'stream.gap';
  readonly timestamp: string;
  readonly cursor: string;
  readonly data: { readonly reason: GapReason };
}

const gap = objectOf<StreamGap>('StreamGap', 'Only with cursors: what came before and what follows are not neighbours. Read the orders anew.')({
  event: oneOf(['stream.gap']),
  timestamp: instant,
  cursor,
  data: objectOf<StreamGap['data']>('StreamGapData')({
    reason: oneOf<GapReason>(['restored', 'lost', 'cursor-too-old', 'cursor-unknown', 'cursor-ahead']),
  }),
});

const schemas: readonly SchemaWithComponents[] = [
  ...Object.values(types).flatMap(({ plain, resumable }) => [plain, resumable]),
  gap,
  webhookTest,
];

const lowerFirst = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);
/** Names of messages, with the events' on every way. */
const plainNames = Object.values(types).map(({ name }) => lowerFirst(name));
const streamNames = [...plainNames, ...Object.values(types).map(({ name }) => `resumable${name}`), 'streamGap'];
const webhookNames = [...Object.values(types).map(({ name }) => `webhook${name}`), 'webhookTest'];
const refs = (names: readonly string[], path: string): Record<string, object> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `${path}/${name}` }]));

/** @param streamUrl where clients reach the stream, like `ws://127.0.0.1:8081` */
export function makeDocument(streamUrl: string): object {
  const { protocol, host } = new URL(streamUrl);
  const { epoch, events } = sampleOf(store.feedRead).answer;
  const logged = events.map(({ seq, id, body }) => ({ id, cursor: encodeCursor({ epoch, seq }), event: JSON.parse(body) as OrderEvent }));
  const [first] = logged;
  if (!first) throw new Error('the sample of store.feedRead has no event');
  const messagesOf = ({ id, cursor, event }: (typeof logged)[number]): [string, object][] => {
    const { name } = types[event.event];
    return [
      [lowerFirst(name), message(event.event, 'The event, and nothing else', name, event)],
      [`resumable${name}`, message(event.event, 'The event with its id and cursor', `Resumable${name}`, { id, cursor, ...event })],
      [`webhook${name}`, { ...message(event.event, 'The same bytes as on the stream', name, event), headers: webhookHeaders }],
    ];
  };
  return {
    asyncapi: '3.0.0',
    info: { title: 'Plant shop: order events', version: '1.0.0', description, license: { name: 'Apache-2.0' } },
    defaultContentType: 'application/json',
    servers: {
      stream: {
        host,
        protocol: protocol.slice(0, -1),
        description: 'The event stream. What a client shows is checked before the upgrade, and again whenever something is revoked.',
        security: ['apiKeyInQuery', 'apiKeyInHeader', 'bearer'].map((name) => ({ $ref: `#/components/securitySchemes/${name}` })),
      },
    },
    channels: {
      updates: {
        address: '/v1/orders/updates',
        title: 'Order events by WebSocket',
        description: closing,
        servers: [{ $ref: '#/servers/stream' }],
        messages: refs(streamNames, '#/components/messages'),
        bindings: { ws: { method: 'GET', query, headers, bindingVersion: '0.1.0' } },
      },
      webhook: {
        address: null,
        title: 'Order events by webhook',
        description: 'The receiver is an address of the client\'s, set up with `POST /v3/webhooks`.',
        messages: refs(webhookNames, '#/components/messages'),
      },
    },
    operations: {
      pushOrderEvents: {
        action: 'send',
        channel: { $ref: '#/channels/updates' },
        title: 'Push order events',
        messages: Object.values(refs(streamNames, '#/channels/updates/messages')),
      },
      callWebhook: {
        action: 'send',
        channel: { $ref: '#/channels/webhook' },
        title: 'Call a webhook',
        description: answering,
        messages: Object.values(refs(webhookNames, '#/channels/webhook/messages')),
        bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
      },
    },
    components: {
      messages: {
        ...Object.fromEntries(logged.flatMap(messagesOf)),
        streamGap: message('stream.gap', 'Something is missing here', 'StreamGap', {
          event: 'stream.gap',
          timestamp: first.event.timestamp,
          cursor: first.cursor,
          data: { reason: 'cursor-too-old' },
        }),
        webhookTest: {
          ...message('webhook.test', 'Sent on request', 'WebhookTest', {
            event: 'webhook.test',
            timestamp: first.event.timestamp,
            data: { webhookId: '0190b6a2-7f00-7a11-8b22-93c4d5e6f708' },
          }),
          headers: webhookHeaders,
        },
      },
      schemas: Object.assign({}, ...schemas.map(({ components }) => components)) as object,
      securitySchemes: {
        apiKeyInQuery: { type: 'httpApiKey', in: 'query', name: 'api_key', description: 'Made with `POST /v3/user/{username}/apiKeys`.' },
        apiKeyInHeader: { type: 'httpApiKey', in: 'header', name: 'api_key', description: 'Keeps the key out of addresses.' },
        bearer: { type: 'http', scheme: 'bearer', description: 'A session token or an OAuth 2.0 access token.' },
      },
    },
  };
}

const closing = `The server closes with a code that says what to do:

| code | why | then |
|---|---|---|
| 4001 | the credential was revoked, or its user is gone | get another one |
| 4003 | the credential may no longer see orders | do not reconnect with it |
| 4100 | too much work | reconnect later, with growing pauses |
| 4101 | too much was unsent: the client reads too slowly | reconnect with the last cursor, and read faster |
| 4200 | this instance hands its clients to others: it is being stopped, or the connection has reached its age | reconnect when it says, with the last cursor |
| 4201 | the credential expires | reconnect at once, with a new one |

After 4100, 4101 and 4200 the reason of the close ends with \`; reconnect-after-ms=<n>\`: wait for as many milliseconds before you reconnect. Each
client gets a time of its own, so that those that are closed together do not come back together. By Server-Sent Events the last message, of the
type \`close\`, has \`{"code","reason","reconnectAfterMs"}\`, and \`retry\` says the same to an EventSource. A connection that ends without a close
(1006): wait a random time of up to 5 seconds, and up to twice as long, but 30 seconds at most, after each failed attempt. A refused
connection (429, 503): wait as long as \`Retry-After\` says.

A connection with a cursor is closed (4200) at a random moment before it is an hour old, unless the operator has set another age. One without a
cursor is not closed for its age.`;

const answering = `Answer with 2xx within 15 seconds; anything else is tried again for more than three days. 410 disables the webhook. 429 and 503
may say \`Retry-After\`. Redirects are not followed. The same \`webhook-id\` may come twice: take it once.`;

const text200 = { type: 'string', minLength: 1 };

const typeNames = eventTypes.map((one) => one.replaceAll('.', '\\.')).join('|');

const query = {
  type: 'object',
  properties: {
    api_key: text200,
    cursor: { type: 'string', description: '`latest`, `earliest`, or the last cursor that was seen: frames then have `id` and `cursor`.' },
    orderId: { type: 'integer', minimum: 1, description: 'Only events of this order.' },
    plantId: { type: 'integer', minimum: 1, description: 'Only events of orders of this plant.' },
    newStatus: { type: 'string', description: 'Only changes to this status, and what is no change of a status.' },
    types: {
      type: 'string',
      pattern: `^(${typeNames})( *, *(${typeNames}))*$`,
      default: defaultEventType,
      description: `Only events of these types: a comma list of ${eventTypes.map((one) => `\`${one}\``).join(', ')}.`,
    },
  },
};

const headers = {
  type: 'object',
  properties: {
    'Sec-WebSocket-Protocol': { type: 'string', enum: ['orders.v1.resumable'], description: 'Like `cursor=latest`.' },
  },
};

const webhookHeaders = {
  type: 'object',
  required: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  properties: {
    'webhook-id': { type: 'string', format: 'uuid', description: "The event's id." },
    'webhook-timestamp': { type: 'string', pattern: '^\\d+$', description: 'Seconds since the epoch, when it was sent.' },
    'webhook-signature': {
      type: 'string',
      pattern: '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$',
      description: 'HMAC-SHA256 over id, timestamp and body, joined by dots; one for each secret that is in force.',
    },
  },
};

const message = (name: string, title: string, schema: string, payload: object): object => ({
  name,
  title,
  contentType: 'application/json',
  payload: { $ref: `#/components/schemas/${schema}` },
  examples: [{ payload }],
});
