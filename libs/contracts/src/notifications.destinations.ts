import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { type AnswerOf, boolean, described, id, instant, integer, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import { forClientsUnder, jsonObject, message } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { type EventType, eventTypes } from './events.js';
import { DateTime, ExpectedVersion, Integer, Name, ObjectOf, OneOf, PageRequest, Pattern, Text, Uuid } from './fields.js';
import { EventFilter, type WebhookState, webhookStates } from './notifications.webhooks.js';
import { permission } from './permissions.js';
import { Description } from './schema.js';
import { type OrderStatus, orderStatuses } from './store.orders.js';

// Destinations: streams of a message broker (NATS JetStream) that administrators have the events of all orders published to.

/** Why nothing is published at present. Every event waits; none is skipped. */
export const holdReasons = ['unreachable', 'unauthorized', 'stream-missing', 'stream-full', 'other-subjects', 'too-large', 'refused'] as const;
export type HoldReason = (typeof holdReasons)[number];

// Sent by clients

/** Of a user of the broker: name and password, a token, or the text of a `.creds` file. */
export class DestinationCredentials {
  @IsOptional()
  @Text({ max: 256 })
  user?: string;

  @IsOptional()
  @Text({ max: 1_024 })
  password?: string;

  @IsOptional()
  @Text({ max: 1_024 })
  token?: string;

  @IsOptional()
  @Text({ max: 8_192 })
  creds?: string;
}

export class NewDestination extends EventFilter {
  @Name({ max: 100 })
  @Description('For people.')
  name: string;

  @Pattern(/^(nats|tls):\/\/(\[[\da-f:.]{2,45}\]|[\w.-]{1,253}):\d{1,5}$/i, 'must be like tls://broker.example:4222', { format: 'uri', maxLength: 300 })
  @Description('A NATS server with JetStream. Must be a tls address reachable from the internet, unless the shop is configured otherwise.')
  url: string;

  @Pattern(/^[^\s.*>/\\]{1,200}$/, 'must be the name of a stream', { maxLength: 200 })
  @Description('The stream, which must exist, with the subjects `<subject>.>`.')
  stream: string;

  @IsOptional()
  @Pattern(/^[\w-]{1,50}(\.[\w-]{1,50}){0,4}$/, 'must be words separated by dots', { maxLength: 254 })
  @Description('Default: `shop.events`. An event of order 17 has the subject `shop.events.order.17`.')
  subject?: string;

  @IsOptional()
  @ObjectOf(() => DestinationCredentials)
  @Description('Stored encrypted, and never returned.')
  credentials?: DestinationCredentials;

  @IsOptional()
  @Integer(1, 1_000_000)
  @Description('Most events a second, also while it catches up. Default: 50,000.')
  perSecond?: number;
}

/** Replaces all settings, except that absent credentials stay the same while the URL does. */
export class DestinationReplacement extends NewDestination {
  @IsOptional()
  @OneOf(webhookStates)
  @Description('Absent: it stays the same. A disabled destination goes on from where it was, as far as the log reaches.')
  state?: WebhookState;
}

export class DestinationReplay {
  @DateTime()
  @Description('Events from this time on, which must be in the past.')
  since: string;

  @IsOptional()
  @DateTime()
  @Description('Events before this time. Default: now.')
  until?: string;
}

// Requests

export class CreateDestination {
  @ObjectOf(() => NewDestination)
  destination: NewDestination;
}

/** Newest first. */
export class ListDestinations extends PageRequest {}

class DestinationRequest {
  @Uuid()
  destinationId: string;
}

export class GetDestination extends DestinationRequest {}

export class ReplaceDestination extends DestinationRequest {
  @ObjectOf(() => DestinationReplacement)
  destination: DestinationReplacement;

  @ExpectedVersion()
  ifVersion?: number;
}

export class DeleteDestination extends DestinationRequest {
  @ExpectedVersion()
  ifVersion?: number;
}

export class ReplayDestination extends DestinationRequest {
  @ObjectOf(() => DestinationReplay)
  replay: DestinationReplay;
}

// Answers

const destinationAnswer = objectOf('Destination', 'A stream of a message broker that the events of all orders are published to.')({
  id: uuid,
  name: text(100),
  url: text(300),
  stream: text(200),
  subject: text(254),
  hasCredentials: boolean,
  eventTypes: listOf(oneOf<EventType>(eventTypes)),
  plantId: optional(id),
  newStatuses: optional(listOf(oneOf<OrderStatus>(orderStatuses))),
  perSecond: integer(1),
  state: oneOf<WebhookState>(webhookStates),
  connected: described(boolean, 'Whether its server was reached since the last change, and nothing prevents publishing.'),
  behindEvents: described(integer(0), 'Events of the log that were not published or passed over yet.'),
  behindSeconds: described(integer(0), 'Time since the first of them was logged.'),
  held: optional(
    described(
      objectOf('DestinationHold')({ reason: oneOf<HoldReason>(holdReasons), detail: text(500), since: instant }),
      'Why nothing is published at present. It is tried again at least every 30 s.',
    ),
  ),
  replay: optional(described(objectOf('DestinationReplayUnderWay')({ since: instant, until: instant }), 'Present until it has ended.')),
  createdAt: instant,
});

export type Destination = AnswerOf<typeof destinationAnswer>;

const { read, write } = operationsOf<ErrorCode>('notifications');
const forClients = forClientsUnder('Webhooks');
const access = permission('write:users');

export const destinationOperations = {
  /** `invalid-input`, with the pointer of the field, for an address that the shop must not connect to. */
  createDestination: forClients(
    write<Destination>()('createDestination', CreateDestination, {
      errors: ['forbidden', 'too-many-destinations', 'idempotency-key-reused'],
      versioned: true,
    }),
    {
      route: 'POST /v3/destinations',
      access,
      summary: 'Create a destination',
      description:
        'Publishes future events of all orders to a stream of NATS JetStream. Needs `read:orders`, too. Each event has its id as ' +
        '`Nats-Msg-Id`, arrives at least once, and those of one order in order. After a restore of the shop, a marker (subject `<subject>.gap`) comes first.',
      body: jsonObject('destination'),
      answer: destinationAnswer,
    },
  ),
  /** Answers a page. */
  listDestinations: forClients(read<Destination[]>()('listDestinations', ListDestinations, { errors: ['forbidden', 'invalid-cursor'] }), {
    route: 'GET /v3/destinations',
    access,
    summary: 'List destinations',
    description: 'Newest first, with how far each is behind.',
    query: ['limit', 'cursor'],
    answer: listOf(destinationAnswer, 1_000),
  }),
  getDestination: forClients(
    read<Destination>()('getDestination', GetDestination, { errors: ['forbidden', 'destination-not-found'], versioned: true }),
    {
      route: 'GET /v3/destinations/:destinationId',
      access,
      summary: 'Read a destination',
      answer: destinationAnswer,
    },
  ),
  replaceDestination: forClients(
    write<Destination>()('replaceDestination', ReplaceDestination, {
      errors: ['forbidden', 'destination-not-found', 'precondition-failed'],
      versioned: true,
    }),
    {
      route: 'PUT /v3/destinations/:destinationId',
      access,
      summary: 'Change, disable or enable a destination',
      description: 'Replaces all settings. It goes on with the next event. Absent credentials stay the same while the URL does.',
      body: jsonObject('destination'),
      answer: destinationAnswer,
    },
  ),
  deleteDestination: forClients(
    write<{ id: string }>()('deleteDestination', DeleteDestination, { errors: ['forbidden', 'destination-not-found', 'precondition-failed'] }),
    {
      route: 'DELETE /v3/destinations/:destinationId',
      access,
      summary: 'Delete a destination',
      description: 'Nothing more is published. What the stream has stays there.',
      answer: message('id', '0190b6a2-7f00-7a11-8b22-93c4d5e6f708'),
    },
  ),
  replayDestination: forClients(
    write<Destination>()('replayDestination', ReplayDestination, { errors: ['forbidden', 'destination-not-found', 'idempotency-key-reused'] }),
    {
      route: 'POST /v3/destinations/:destinationId/replay',
      access,
      summary: 'Publish past events again',
      description:
        'Publishes the events of a period that match the destination again, beside new ones, with their ids and the header `Shop-Replay`. ' +
        'Replaces a replay under way. The stream drops those that it got within its duplicate window.',
      body: jsonObject('replay'),
      answer: destinationAnswer,
    },
  ),
};
