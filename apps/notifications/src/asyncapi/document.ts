import { described, instant, listOf, objectOf, oneOf, text, type SchemaWithComponents } from '@plant-shop/contracts/answers';
import { defaultEventType, type EventType, eventTypes, type ShopEvent } from '@plant-shop/contracts/events';
import { orderPlaced, orderShipped, orderStatusChanged, refundDue, stockBack, stockLow, stockOut, webhookTest } from '@plant-shop/contracts/events.schema';
import { sampleOf } from '@plant-shop/contracts/samples';
import { store } from '@plant-shop/contracts/store';
import { encodeCursor } from '../log/history.js';
import type { GapReason } from '../log/log-entry.js';
import { defaultLimit, maxLimit, maxWaitSeconds } from '../options.js';

// The AsyncAPI 3.0 document of the stream and webhooks. Tests validate real frames by it.

const description = `Every status change of an order, at least once, in order per order, and with the same id and bytes in every form.

Other event types are opt-in, by the parameter \`types\` of the stream and the \`eventTypes\` of a webhook:

| type | when |
|---|---|
| \`order.status_changed\` | the status of an order changes. The default: a client that names no types receives only this one |
| \`order.placed\` | an order is placed |
| \`order.shipped\` | a shipment is reported; once per report |
| \`refund.due\` | a payment arrived too late or twice and must be refunded |
| \`stock.low\` | a plant's free units fall to its \`lowStockAt\` or below |
| \`stock.out\` | its last free unit is gone |
| \`stock.back\` | it has free units again |

Stock events need \`read:stock\`. A change sends only one of them, the strongest; orders placed together are one change.

All types share one log: an order's events of all types arrive in the order in which they happened, and a cursor is a position among all of
them. A client may resume with the same cursor and other types.

- **WebSocket** at \`/v1/orders/updates\`. By default a frame is the event alone. With \`cursor\`, or the subprotocol
  \`orders.v1.resumable\`, it also has \`id\` and \`cursor\`; a client that connects with its last cursor receives every later event once.
- **Server-Sent Events** at the same address (\`Accept: text/event-stream\`, \`Last-Event-ID\`), and pages of JSON (plain \`GET\`, \`limit\`, \`wait\`).
- **While no event matches**, the cursor advances too. Server-Sent Events have it every 25 seconds, as an \`id\` without data, the pings of a
  resumable WebSocket as their payload, and every page. Keep the newest, or it becomes too old. A page brings it to scripts in browsers, which see no pings.
- **Webhooks** (Standard Webhooks 1.0) are set up with the HTTP API, \`POST /v3/webhooks\`.

Clients receive the events of their own orders; with \`read:orders\`, of all orders.`;

const cursor = described(text(500), 'Opaque. Connect with the last one to receive every later event once.');

/** Name and schemas of each event type in the document. */
const types = {
  'order.status_changed': { name: 'OrderStatusChanged', ...orderStatusChanged },
  'order.placed': { name: 'OrderPlaced', ...orderPlaced },
  'order.shipped': { name: 'OrderShipped', ...orderShipped },
  'refund.due': { name: 'RefundDue', ...refundDue },
  'stock.low': { name: 'StockLow', ...stockLow },
  'stock.out': { name: 'StockOut', ...stockOut },
  'stock.back': { name: 'StockBack', ...stockBack },
} satisfies Record<EventType, object>;

/** The gap notice: events may be missing before the next one. */
const gap = objectOf('StreamGap', 'Sent only to clients that receive cursors: events may be missing here. Read the orders again.')({
  event: oneOf(['stream.gap']),
  timestamp: instant,
  cursor,
  data: objectOf('StreamGapData')({
    reason: oneOf<GapReason>(['restored', 'lost', 'cursor-too-old', 'cursor-unknown', 'cursor-ahead']),
  }),
});

const resumables: readonly SchemaWithComponents[] = Object.values(types).map(({ resumable }) => resumable);

const page = objectOf('OrderEventPage', 'An answer to plain `GET`.')({
  events: listOf({ json: { oneOf: [...resumables, gap].map(({ json }) => json) }, components: {} }),
  cursor: described(text(500), 'Ask for the next page with it, also if this one is empty.'),
});

const schemas: readonly SchemaWithComponents[] = [
  ...Object.values(types).flatMap(({ plain, resumable }) => [plain, resumable]),
  gap,
  page,
  webhookTest,
];

const lowerFirst = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);
/** Names of messages, for each form of the events. */
const plainNames = Object.values(types).map(({ name }) => lowerFirst(name));
const streamNames = [...plainNames, ...Object.values(types).map(({ name }) => `resumable${name}`), 'streamGap'];
const webhookNames = [...Object.values(types).map(({ name }) => `webhook${name}`), 'webhookTest'];
const refs = (names: readonly string[], path: string): Record<string, object> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `${path}/${name}` }]));

/** @param streamUrl public address of the stream, like `ws://127.0.0.1:8081` */
export function makeDocument(streamUrl: string): object {
  const { protocol, host } = new URL(streamUrl);
  const security = ['apiKeyInQuery', 'apiKeyInHeader', 'bearer'].map((name) => ({ $ref: `#/components/securitySchemes/${name}` }));
  const { epoch, events } = sampleOf(store.feedRead).answer;
  const logged = events.map(({ seq, id, body }) => ({ id, cursor: encodeCursor({ epoch, seq }), event: JSON.parse(body) as ShopEvent }));
  const [first] = logged;
  if (!first) throw new Error('the sample of store.feedRead has no event');
  const messagesOf = ({ id, cursor, event }: (typeof logged)[number]): [string, object][] => {
    const { name } = types[event.event];
    return [
      [lowerFirst(name), message(event.event, 'The event alone', name, event)],
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
        description: 'The event stream. Credentials are checked before the upgrade, and again after revocations.',
        security,
      },
      pages: { host, protocol: protocol.slice(0, -1).replace('ws', 'http'), description: 'The same by HTTP.', security },
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
      pages: {
        address: '/v1/orders/updates',
        title: 'Order events by page',
        description: 'A plain `GET` answers the events after `cursor` that exist, or waits up to `wait` seconds for one. Ask again with the `cursor` of the page.',
        servers: [{ $ref: '#/servers/pages' }],
        messages: refs(['page'], '#/components/messages'),
      },
      webhook: {
        address: null,
        title: 'Order events by webhook',
        description: 'The receiver is a URL of the client, set up with `POST /v3/webhooks`.',
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
      answerPage: {
        action: 'send',
        channel: { $ref: '#/channels/pages' },
        title: 'Answer a page',
        messages: [{ $ref: '#/channels/pages/messages/page' }],
        bindings: { http: { method: 'GET', query: pageQuery, bindingVersion: '0.3.0' } },
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
        streamGap: message('stream.gap', 'Events may be missing here', 'StreamGap', {
          event: 'stream.gap',
          timestamp: first.event.timestamp,
          cursor: first.cursor,
          data: { reason: 'cursor-too-old' },
        }),
        page: message('page', 'The next events', 'OrderEventPage', { events: [{ id: first.id, cursor: first.cursor, ...first.event }], cursor: first.cursor }),
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
        apiKeyInQuery: { type: 'httpApiKey', in: 'query', name: 'api_key', description: 'Created with `POST /v3/user/{username}/apiKeys`.' },
        apiKeyInHeader: { type: 'httpApiKey', in: 'header', name: 'api_key', description: 'Keeps the key out of URLs.' },
        bearer: { type: 'http', scheme: 'bearer', description: 'A session token or an OAuth 2.0 access token.' },
      },
    },
  };
}

const closing = `The close code tells the client what to do:

| code | reason | client |
|---|---|---|
| 4001 | the credential was revoked, or its user deleted | needs another credential |
| 4003 | the credential may no longer read orders | must not reconnect with it |
| 4100 | the server is overloaded | reconnects later, with growing pauses |
| 4101 | the client reads too slowly | reconnects with its last cursor, and reads faster |
| 4200 | the instance stops, or the connection has reached its maximum age | reconnects after the given delay, with its last cursor |
| 4201 | the credential expires | reconnects at once, with a new one |

After 4100, 4101 and 4200 the close reason ends with \`; reconnect-after-ms=<n>\`: wait that many milliseconds before you reconnect. The delay
is random, so that clients that are closed together do not reconnect together. By Server-Sent Events the last message, of type \`close\`, has
\`{"code","reason","reconnectAfterMs"}\`, and \`retry\` makes an EventSource wait as long. After a connection that ends without a close (1006),
wait a random time of up to 5 seconds; double the limit after each failed attempt, up to 30 seconds. After a refused connection (429, 503),
wait for \`Retry-After\`.

A connection that can resume is closed (4200) at a random moment before it is an hour old, unless the operator has set another maximum age: one
with a cursor, with the subprotocol \`orders.v1.resumable\`, or by Server-Sent Events. Other connections have no maximum age.`;

const answering = `Respond with 2xx within 15 seconds; after anything else the event is retried, for more than three days. 410 disables the webhook.
429 and 503 may have \`Retry-After\`. Redirects are not followed. The same \`webhook-id\` may arrive twice: process it once.`;

const text200 = { type: 'string', minLength: 1 };

const typeNames = eventTypes.map((one) => one.replaceAll('.', '\\.')).join('|');

const query = {
  type: 'object',
  properties: {
    api_key: text200,
    cursor: { type: 'string', description: '`latest`, `earliest`, or the last cursor received. Frames then have `id` and `cursor`.' },
    orderId: { type: 'integer', minimum: 1, description: 'Only events of this order.' },
    plantId: { type: 'integer', minimum: 1, description: 'Only events of orders of this plant, and of its stock.' },
    newStatus: { type: 'string', description: 'Only status changes to this status; events of other types pass.' },
    types: {
      type: 'string',
      pattern: `^(${typeNames})( *, *(${typeNames}))*$`,
      default: defaultEventType,
      description: `Only events of these types: a comma-separated list of ${eventTypes.map((one) => `\`${one}\``).join(', ')}.`,
    },
  },
};

const pageQuery = {
  type: 'object',
  properties: {
    ...query.properties,
    cursor: { ...query.properties.cursor, description: '`latest` (the default), `earliest`, or the last cursor received.' },
    limit: { type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit, description: 'Maximum number of events. A page also ends at 1 MiB.' },
    wait: { type: 'integer', minimum: 0, maximum: maxWaitSeconds, default: 0, description: 'How many seconds to wait for an event if there is none.' },
  },
};

const headers = {
  type: 'object',
  properties: {
    'Sec-WebSocket-Protocol': { type: 'string', enum: ['orders.v1.resumable'], description: 'Requests frames with `id` and `cursor`, like `cursor=latest`.' },
  },
};

const webhookHeaders = {
  type: 'object',
  required: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  properties: {
    'webhook-id': { type: 'string', format: 'uuid', description: "The event's id." },
    'webhook-timestamp': { type: 'string', pattern: '^\\d+$', description: 'Time of the attempt, in seconds since 1970.' },
    'webhook-signature': {
      type: 'string',
      pattern: '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$',
      description: 'HMAC-SHA256 of id, timestamp and body, joined by dots; one for each valid secret.',
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
