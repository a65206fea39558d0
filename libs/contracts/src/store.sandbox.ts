import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { type AnswerOf, described, integer, objectOf, uuid } from './answers.js';
import { forClientsUnder, jsonObject } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { type EventType, eventTypes } from './events.js';
import { DateTime, Id, Integer, ObjectOf, OneOf, Text } from './fields.js';
import { permission } from './permissions.js';
import { Description } from './schema.js';
import { type OrderStatus, orderStatuses } from './store.orders.js';

// What only a sandbox has: a shop with SANDBOX answers it, every other one 404.

// Sent by clients

const clockScopes = ['due', 'all'] as const;
export type ClockScope = (typeof clockScopes)[number];

export class ClockAdvance {
  @Integer(1, 31_536_000)
  @Description('Everything that is due later is due so much earlier.')
  advanceSeconds: number;

  @IsOptional()
  @OneOf(clockScopes)
  @Description(
    '`due`, the default: orders and webhooks. `all`: also sessions, API keys with an expiry, and what OAuth 2.0 keeps, such as refresh tokens, end so ' +
      'much earlier, yours too. Access tokens end at once if it is an hour or more, and otherwise keep their time; for a second, a new one may be refused, ' +
      'too.',
  )
  scope?: ClockScope;
}

/** Members of the events of all types; each is optional, and others than those of the type are refused. */
export class TestEventData {
  @IsOptional()
  @Id()
  orderId?: number;

  @IsOptional()
  @Id()
  plantId?: number;

  @IsOptional()
  @Id()
  refundId?: number;

  @IsOptional()
  @OneOf(orderStatuses)
  previousStatus?: OrderStatus;

  @IsOptional()
  @OneOf(orderStatuses)
  newStatus?: OrderStatus;

  @IsOptional()
  @Text({ min: 0 })
  trackingNumber?: string;

  @IsOptional()
  @Text()
  carrier?: string;

  @IsOptional()
  @Integer(1, 1_000_000)
  quantity?: number;

  @IsOptional()
  @DateTime()
  shipDate?: string;

  @IsOptional()
  @DateTime()
  reservedUntil?: string;

  @IsOptional()
  @Integer(0, 1_000_000_000)
  free?: number;

  @IsOptional()
  @Integer(0, 1_000_000_000)
  lowStockAt?: number;
}

export class TestEvent {
  @OneOf(eventTypes)
  type: EventType;

  @IsOptional()
  @ObjectOf(() => TestEventData)
  @Description('Members of the data of this type. Those that are absent have example values.')
  data?: TestEventData;
}

// Requests

export class AdvanceClock {
  @ObjectOf(() => ClockAdvance)
  clock: ClockAdvance;
}

export class SendTestEvent {
  @ObjectOf(() => TestEvent)
  event: TestEvent;
}

const clockAdvanced = objectOf('ClockAdvanced')({ advancedSeconds: integer(1, 31_536_000) });
const sandboxReset = objectOf('SandboxReset')({ deletedOrders: described(integer(0), 'Of all users.') });
const testEventSent = objectOf('TestEventSent')({ id: described(uuid, 'Of the event, the same in each delivery.') });

// Answers
export type ClockAdvanced = AnswerOf<typeof clockAdvanced>;
export type SandboxReset = AnswerOf<typeof sandboxReset>;
export type TestEventSent = AnswerOf<typeof testEventSent>;

const { write } = operationsOf<ErrorCode>('store');
const forClients = forClientsUnder('Sandbox');

export const sandboxOperations = {
  /** The gateway also calls the operations of notifications and identity with this name. */
  advanceClock: forClients(write<ClockAdvanced>()('advanceClock', AdvanceClock), {
    route: 'POST /v3/test/clock',
    onlyInSandbox: true,
    revokes: true,
    access: permission('write:users'),
    summary: 'Move due times',
    description:
      'Approvals, expiries and deliveries of orders, and attempts of webhooks, are due so much earlier. What becomes due follows within a second; a ' +
      'step after it waits its own time.',
    body: jsonObject('clock'),
    answer: clockAdvanced,
  }),
  sendTestEvent: forClients(write<TestEventSent>()('sendTestEvent', SendTestEvent), {
    route: 'POST /v3/test/events',
    onlyInSandbox: true,
    access: permission('write:users'),
    summary: 'Send an event',
    description: 'Adds an event of yours to the log, although nothing happened: your streams and webhooks get it, as do those that see all orders or stock.',
    body: jsonObject('event'),
    answer: testEventSent,
  }),
  /** The gateway also calls the operation of notifications with this name. */
  resetSandbox: forClients(write<SandboxReset>()('resetSandbox', NoPayload), {
    route: 'POST /v3/test/reset',
    onlyInSandbox: true,
    access: permission('write:users'),
    summary: 'Delete all orders',
    description:
      'Deletes the orders, baskets, payments, refunds, notes and deliveries of webhooks of all users. Units of orders are free again, without an event. ' +
      'Plants, users, credentials, webhooks, events and the audit log stay. An event from before may still arrive.',
    answer: sandboxReset,
  }),
};
