import { Controller, Injectable } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import { type AddOrderNote, type GetTimeline, type OrderStatus, store, type TimelineEntry } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import { type PageBounds, Paging, type Sorting } from '@plant-shop/platform/patterns/paging';
import { Database, readClock, type Reader, type Statement } from '@plant-shop/platform/postgres/database';
import type { Page, Replayed } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { lockAgainstClosing } from '../customers/customers.js';
import { customerClosed, requireOrder, storeActor, transferred } from './order.js';
import { maySeeOwners, requireVisible } from './order.views.js';
import { findOrder, lockOrder } from './orders.repository.js';

/** A row of an order's timeline: a step, or a note of staff. */
interface TimelineRow {
  /** The order's, from this step on. */
  readonly version: number;
  /** 0 for a step. */
  readonly noteId: number;
  readonly at: Date;
  readonly previousStatus: OrderStatus | null;
  readonly newStatus: OrderStatus;
  /** A user id, or `store`. */
  readonly actor: string;
  /** The OAuth client that acted for the actor. */
  readonly clientId: string | null;
  readonly reason: string;
  /** The owner from this step on. */
  readonly ownerId: string;
  readonly eventId: string | null;
  /** Set for shipments only. */
  readonly carrier: string | null;
  readonly trackingNumber: string | null;
  /** Set when a refund became due or was completed. */
  readonly refundId: number | null;
  readonly note: string | null;
}

/** A place in a timeline: a step, and a note after it. */
type TimelinePosition = Pick<TimelineRow, 'version' | 'noteId'>;

const byStep: Sorting<TimelinePosition> = {
  start: { version: 0, noteId: 0 },
  isPosition: (value): value is TimelinePosition => {
    const { version, noteId } = (value ?? {}) as Partial<TimelinePosition>;
    return Number.isSafeInteger(version) && Number.isSafeInteger(noteId) && Number(version) >= 1 && Number(noteId) >= 0;
  },
};

const steps = `
  SELECT order_version AS version, 0::bigint AS "noteId", at, previous_status AS "previousStatus", new_status AS "newStatus", actor, client_id AS "clientId", reason,
    owner_id AS "ownerId", event_id AS "eventId", carrier, tracking_number AS "trackingNumber", refund_id AS "refundId", NULL AS note
  FROM order_transitions WHERE order_id = $1 AND order_version > $2 ORDER BY order_version LIMIT $3`;
const notes = `
  SELECT order_version, id, at, NULL, status, actor::text, client_id, 'note', owner_id, NULL::uuid, NULL, NULL, NULL::bigint, text
  FROM order_notes WHERE order_id = $1 AND (order_version, id) > ($2, $4) ORDER BY order_version, id LIMIT $3`;

const findSteps: Statement = { name: 'find-timeline', text: steps };
const findAll: Statement = { name: 'find-timeline-with-notes', text: `(${steps}) UNION ALL (${notes}) ORDER BY version, "noteId" LIMIT $3` };

/** Returns an order's timeline, oldest first, one row more than the page holds. */
export function findTimeline(db: Reader, orderId: number, { after, limit }: PageBounds<TimelinePosition>, hasNotes: boolean): Promise<TimelineRow[]> {
  const values = [orderId, after.version, limit + 1];
  return hasNotes ? db.query(findAll, [...values, after.noteId]) : db.query(findSteps, values);
}

const insertNote: Statement = {
  name: 'add-order-note',
  text: `INSERT INTO order_notes (order_id, order_version, status, at, actor, client_id, owner_id, text) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
};

/** The timeline of an order: its steps and, for staff, notes. */
@Injectable()
export class TimelineService {
  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
  ) {}

  /** Returns a page of an order's steps, oldest first. @throws DomainError `order-not-found`; CodedError `invalid-cursor` */
  async read(context: RpcContext, { orderId, ...requested }: GetTimeline): Promise<Page<TimelineEntry>> {
    const { principal } = context;
    const paging = new Paging('timeline', byStep, [String(orderId)]);
    const bounds = paging.bounds(requested);
    requireVisible(principal, orderId, await findOrder(this.database, orderId));
    const rows = await findTimeline(this.database, orderId, bounds, principal.permissions.includes('read:orders'));
    const names = maySeeOwners(context) ? await this.namesIn(context, rows) : undefined;
    return paging.page(rows, bounds, { entry: (row) => toTimelineEntry(row, names), position: ({ version, noteId }) => ({ version, noteId }) });
  }

  /** Resolves the current names of actors, owners and OAuth clients. Omits deleted ones. */
  private async namesIn(context: RpcContext, rows: readonly TimelineRow[]): Promise<Names> {
    const userIds = [...new Set(rows.flatMap(({ actor, ownerId }) => [actor, ownerId]).filter((id) => id !== storeActor))];
    const clientIds = [...new Set(rows.flatMap(({ clientId }) => clientId ?? []))];
    const [users, clients] = await Promise.all([
      userIds.length === 0 ? [] : this.rpc.call(identity.resolveUserIds, { userIds }, context),
      clientIds.length === 0 ? [] : this.rpc.call(identity.resolveOAuthClients, { clientIds }, context),
    ]);
    return { users: new Map(users.map(({ userId, username }) => [userId, username])), clients: new Map(clients.map(({ clientId, name }) => [clientId, name])) };
  }

  /** Adds a note of staff after the order's latest step. @throws DomainError `order-not-found`, `customer-closed`: a note may name its owner */
  addNote(context: RpcContext, { orderId, note: { text } }: AddOrderNote): Promise<TimelineEntry | Replayed> {
    return this.database.transaction((tx) =>
      runOnce(tx, context.idempotency, async () => {
        // Locked, so that the note is not added before a step that a reader has already seen.
        const [found, at] = await Promise.all([lockOrder(tx, orderId), readClock(tx)]);
        const { version, status, ownerId } = requireOrder(orderId, found);
        // Against the order of locks, but whoever closes a customer waits for no order.
        if ((await lockAgainstClosing(tx, [ownerId])).has(ownerId)) throw customerClosed();
        tx.send(insertNote, [orderId, version, status, at, context.principal.subject, context.clientId, ownerId, text]);
        audit(tx, actorOf(context), store.addOrderNote, orderId);
        return { at: at.toISOString(), newStatus: status, actor: 'staff', reason: 'note', note: text };
      }),
    );
  }
}

/** Current names by id. */
interface Names {
  readonly users: ReadonlyMap<string, string>;
  readonly clients: ReadonlyMap<string, string>;
}

/** @param names undefined: the reader may not see them */
const toTimelineEntry = (row: TimelineRow, names: Names | undefined): TimelineEntry => ({
  at: row.at.toISOString(),
  ...(row.previousStatus && { previousStatus: row.previousStatus }),
  newStatus: row.newStatus,
  actor: roleOf(row),
  ...named('username', names?.users.get(row.actor)),
  ...applicationOf(row, names),
  // Of other steps it is the one before.
  ...((row.version === 1 || row.reason === transferred) && named('owner', names?.users.get(row.ownerId))),
  reason: row.reason,
  ...(row.note !== null && { note: row.note }),
  ...(row.carrier !== null && { carrier: row.carrier }),
  ...(row.trackingNumber !== null && { trackingNumber: row.trackingNumber }),
  ...(row.refundId !== null && { refundId: row.refundId }),
  ...(row.eventId !== null && { eventId: row.eventId }),
});

const named = <Name extends string>(member: Name, name: string | undefined): Partial<Record<Name, string>> => (name === undefined ? {} : ({ [member]: name } as Record<Name, string>));

function applicationOf({ clientId }: TimelineRow, names: Names | undefined): Pick<TimelineEntry, 'application'> {
  const name = clientId === null ? undefined : names?.clients.get(clientId);
  return clientId === null || name === undefined ? {} : { application: { clientId, name } };
}

/** Shows the actor's role; internal user ids stay private. */
function roleOf({ actor, ownerId, note }: TimelineRow): TimelineEntry['actor'] {
  if (actor === storeActor) return 'store';
  return actor === ownerId && note === null ? 'owner' : 'staff';
}

@Controller()
export class TimelineController {
  constructor(private readonly timeline: TimelineService) {}

  @Answers(store.getTimeline)
  getTimeline(request: GetTimeline, context: RpcContext): Promise<Page<TimelineEntry>> {
    return this.timeline.read(context, request);
  }

  @Answers(store.addOrderNote)
  addOrderNote(request: AddOrderNote, context: RpcContext): Promise<TimelineEntry | Replayed> {
    return this.timeline.addNote(context, request);
  }
}
