import { Controller, Injectable } from '@nestjs/common';
import { type EventType, isStockEvent, noSubject, type ShopEvent } from '@plant-shop/contracts/events';
import { type AdvanceClock, type ClockAdvanced, type SandboxReset, type SendTestEvent, store, type TestEventSent } from '@plant-shop/contracts/store';
import { invalidInput } from '@plant-shop/platform/errors';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { Database, readClock } from '@plant-shop/platform/postgres/database';
import { assertSandbox } from '@plant-shop/platform/postgres/schema-check';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { v7 as uuidv7 } from 'uuid';
import { DueOrdersLoop } from '../checkout/due-orders.service.js';
import { OrderFeed } from '../feed/order-feed.js';

// What only a sandbox can do. Without SANDBOX the module has none of it.

type DataOf<Event extends ShopEvent> = { readonly [Type in Event['event']]: Extract<Event, { readonly event: Type }>['data'] };

/** What the data of a test event has unless the caller says otherwise. */
const dataOf: DataOf<ShopEvent> = {
  'order.status_changed': { orderId: 1, plantId: 1, previousStatus: 'placed', newStatus: 'approved', trackingNumber: 'PS0000000000000001' },
  'order.placed': { orderId: 1, plantId: 1, quantity: 1 },
  'order.shipped': { orderId: 1, plantId: 1, carrier: 'Test Post', trackingNumber: 'TEST1' },
  'refund.due': { refundId: 1, orderId: 1, plantId: 1 },
  'stock.low': { plantId: 1, free: 1 },
  'stock.out': { plantId: 1, free: 0 },
  'stock.back': { plantId: 1, free: 10 },
};

const ofStock = ['lowStockAt'];
/** Members that the data need not have. */
const optionalMembers: Readonly<Partial<Record<EventType, readonly string[]>>> = {
  'order.placed': ['shipDate', 'reservedUntil'],
  'stock.low': ofStock,
  'stock.out': ofStock,
  'stock.back': ofStock,
};

@Injectable()
export class SandboxService {
  constructor(
    private readonly database: Database,
    private readonly dueOrders: DueOrdersLoop,
    private readonly feed: OrderFeed,
  ) {}

  /** Makes everything that is due later due so much earlier. */
  async advance(context: RpcContext, { advanceSeconds, scope = 'due' }: AdvanceClock['clock']): Promise<ClockAdvanced> {
    await this.database.transaction(async (tx) => {
      await tx.execute(
        `WITH due AS MATERIALIZED (SELECT id FROM orders WHERE due_at IS NOT NULL ORDER BY id FOR NO KEY UPDATE)
         UPDATE orders SET due_at = due_at - $1 * interval '1 second' FROM due WHERE orders.id = due.id`,
        [advanceSeconds],
      );
      audit(tx, actorOf(context), store.advanceClock, `${advanceSeconds} ${scope}`);
    });
    this.dueOrders.notify();
    return { advancedSeconds: advanceSeconds };
  }

  /** Adds an event of the caller to the feed, as if something had happened. @throws CodedError `invalid-input` */
  async sendEvent(context: RpcContext, { type, data = {} }: SendTestEvent['event']): Promise<TestEventSent> {
    const known = [...Object.keys(dataOf[type]), ...(optionalMembers[type] ?? [])];
    const given = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));
    const unknown = Object.keys(given).filter((name) => !known.includes(name));
    if (unknown.length > 0) throw invalidInput(unknown.map((name) => ({ pointer: `/event/data/${name}`, detail: `is not a member of ${type}` })));
    const id = uuidv7();
    await this.database.transaction(async (tx) => {
      const at = await readClock(tx);
      const body = { event: type, timestamp: at.toISOString(), data: { ...dataOf[type], ...given } };
      await tx.execute('INSERT INTO order_transitions (at, owner_id, event_id, body) VALUES ($1, $2, $3, $4)', [
        at,
        isStockEvent(type) ? noSubject : actorOf(context).subject,
        id,
        JSON.stringify(body),
      ]);
      audit(tx, actorOf(context), store.sendTestEvent, type);
    });
    this.feed.notify();
    return { id };
  }

  /**
   * Deletes all orders with what belongs to them, and frees their units. Their events stay in the feed, which has no gaps, as events
   * without an order: clients may choose an order's id again.
   */
  reset(context: RpcContext): Promise<SandboxReset> {
    return this.database.transaction(async (tx) => {
      await assertSandbox(tx);
      // Waits for every transaction that has locked or changed rows, in the lock order, and keeps others out.
      await tx.execute(
        `LOCK TABLE idempotency_keys, payments, baskets, orders, stock, order_transitions, order_counts_head, inventory_total, inventory_deltas
         IN EXCLUSIVE MODE`,
      );
      for (const table of ['idempotency_keys', 'payments', 'order_notes', 'order_metadata', 'orders_set_aside', 'baskets', 'order_counts']) {
        await tx.execute(`DELETE FROM ${table}`);
      }
      await tx.execute('DELETE FROM stock_changes WHERE order_id IS NOT NULL');
      await tx.execute('DELETE FROM order_transitions WHERE event_id IS NULL');
      await tx.execute(
        `UPDATE order_transitions SET order_id = NULL, order_version = NULL, new_status = NULL, actor = NULL, reason = NULL WHERE order_id IS NOT NULL`,
      );
      const deletedOrders = await tx.execute('DELETE FROM orders');
      await tx.execute(
        `UPDATE stock SET reserved = 0, sold = 0, written_off = 0, version = version + 1,
           free = CASE WHEN listing = 'retired' THEN 0 ELSE supplied END, supplied = CASE WHEN listing = 'retired' THEN 0 ELSE supplied END
         WHERE (reserved, sold, written_off) <> (0, 0, 0)`,
      );
      await tx.execute('DELETE FROM inventory_deltas');
      await tx.execute(
        `UPDATE inventory_total AS total SET (available, pending, sold) = (
           SELECT coalesce(sum(free) FILTER (WHERE listing = 'available'), 0), coalesce(sum(free) FILTER (WHERE listing = 'pending'), 0),
             coalesce(sum(free) FILTER (WHERE listing = 'sold'), 0) FROM stock)`,
      );
      audit(tx, actorOf(context), store.resetSandbox, `${deletedOrders} orders`);
      return { deletedOrders };
    });
  }
}

@Controller()
export class SandboxController {
  constructor(private readonly sandbox: SandboxService) {}

  @Answers(store.advanceClock)
  advanceClock({ clock }: AdvanceClock, context: RpcContext): Promise<ClockAdvanced> {
    return this.sandbox.advance(context, clock);
  }

  @Answers(store.resetSandbox)
  resetSandbox(_: object, context: RpcContext): Promise<SandboxReset> {
    return this.sandbox.reset(context);
  }

  @Answers(store.sendTestEvent)
  sendTestEvent({ event }: SendTestEvent, context: RpcContext): Promise<TestEventSent> {
    return this.sandbox.sendEvent(context, event);
  }
}
