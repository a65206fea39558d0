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
import { bringForwardAll, deleteOrders, insertEvent } from './sandbox.repository.js';

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
      await bringForwardAll(tx, advanceSeconds);
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
      await insertEvent(tx, { id, at, ownerId: isStockEvent(type) ? noSubject : actorOf(context).subject, body: JSON.stringify(body) });
      audit(tx, actorOf(context), store.sendTestEvent, type);
    });
    this.feed.notify();
    return { id };
  }

  reset(context: RpcContext): Promise<SandboxReset> {
    return this.database.transaction(async (tx) => {
      await assertSandbox(tx);
      const deletedOrders = await deleteOrders(tx);
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
