import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { type AnswerOf, described, id, instant, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import { forClientsUnder, jsonObject } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { Id, ObjectOf, PageRequest, VisibleText } from './fields.js';
import { orderReader, permission } from './permissions.js';
import { orderStatus } from './store.orders.js';

// What happened to an order, and what staff noted.

export class NewOrderNote {
  @VisibleText({ max: 2_000 })
  text: string;
}

/** Oldest first. */
export class GetTimeline extends PageRequest {
  @Id()
  orderId: number;
}

export class AddOrderNote {
  @Id()
  orderId: number;

  @ObjectOf(() => NewOrderNote)
  note: NewOrderNote;
}

const application = objectOf('TimelineApplication', 'An OAuth client.')({ clientId: text(200), name: text(200) });

const timelineEntryAnswer = objectOf('TimelineEntry', "One step in the history of an order.")({
  at: instant,
  previousStatus: optional(described(orderStatus, 'Absent: the step changed no status (placing, shipping, a transfer, a note).')),
  newStatus: orderStatus,
  actor: described(oneOf(['owner', 'staff', 'store']), 'The owner at that time, staff, or the store itself.'),
  username: optional(described(text(64), 'The current name of the user who took the step. Only with `read:orders`; absent for the store and deleted users.')),
  application: optional(described(application, 'The OAuth client that took the step for the user. Only with `read:orders`; absent for other credentials and deleted clients.')),
  owner: optional(described(text(64), 'The current name of the owner from this step on. Only with `read:orders`, for placing and transfers.')),
  reason: text(600),
  note: optional(described(text(2_000), 'Only with `read:orders`.')),
  carrier: optional(described(text(200), 'Only for a shipment.')),
  trackingNumber: optional(described(text(200), 'Only for a shipment.')),
  refundId: optional(described(id, 'Only for a refund that became due or was completed.')),
  eventId: optional(
    described(uuid, 'Id of the event that the stream and webhooks deliver. Absent: the step has none (a transfer, a completed refund, a note).'),
  ),
});

/** One step in the history of an order. */
export type TimelineEntry = AnswerOf<typeof timelineEntryAnswer>;

const { read, write } = operationsOf<ErrorCode>('store');
const forClients = forClientsUnder('Store');

export const timelineOperations = {
  /** Answers a page, beginning with the placing. */
  getTimeline: forClients(
    read<TimelineEntry[]>()('getTimeline', GetTimeline, { errors: ['order-not-found', 'invalid-cursor'] }),
    {
      route: 'GET /v3/store/order/:orderId/timeline',
      access: orderReader,
      summary: 'Read the timeline of an order',
      description: 'Each step since the order was placed, oldest first, with time, actor, reason and event.',
      query: ['limit', 'cursor'],
      answer: listOf(timelineEntryAnswer, 1_000),
    },
  ),
  addOrderNote: forClients(
    write<TimelineEntry>()('addOrderNote', AddOrderNote, { errors: ['order-not-found', 'customer-closed', 'idempotency-key-reused'] }),
    {
      route: 'POST /v3/store/order/:orderId/note',
      access: permission('manage:orders'),
      summary: 'Add a note to an order',
      description: 'The timeline shows it to callers with `read:orders`, not to the owner. It is deleted with the account of the owner, after which the order takes none. The order itself does not change.',
      body: jsonObject('note'),
      answer: timelineEntryAnswer,
    },
  ),
};
