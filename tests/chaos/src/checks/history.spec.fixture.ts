import { type Answered, type ShopRequest, type Call, type EventType, eventTypes, type FinalOrder, type Follower, type History, type OrderStatus, type SeenEvent, type Snapshot, type Transition } from '../history.js';

// A history without violations, and changes that break its rules.

export const plantId = 7;

export const answer = (more: Partial<Answered> = {}): Answered => ({ status: 200, hasRetryAfter: false, isReplayed: false, ...more });
export const order = (id: number, status: OrderStatus, version: number): Answered => answer({ order: { id, status, version } });
export const refused = (code: string, status = 409): Answered => answer({ status, code });
export const unavailable = answer({ status: 503, code: 'unavailable', hasRetryAfter: true });
export const unknown = answer({ status: 503, code: 'outcome-unknown', hasRetryAfter: true });
let requests = 0;
export const call = (from: number, to: number, request: ShopRequest, of: Call['answer'], client = 'c'): Call => ({ client, request, from, to, answer: of, requestId: `request-${++requests}` });
export const byStaff = (from: number, to: number, request: ShopRequest, of: Call['answer'], requestId = `request-${++requests}`): Call => ({ client: 'staff', request, from, to, answer: of, requestId });
export const pay = (orderId: number, reference: string): ShopRequest => ({ kind: 'pay', orderId, reference, outcome: 'succeeded' });
export const place = (orderId: number): ShopRequest => ({ kind: 'place', plantId, quantity: 2, orderId });

/** @param turn number of the status change; 0 is the placing */
export const eventOf = (orderId: number, turn: number, event: EventType = turn === 0 ? 'order.placed' : 'order.status_changed'): SeenEvent => ({
  id: `event-${orderId}-${turn}`,
  body: JSON.stringify({ event, data: { orderId, turn } }),
});
export const shippedEvent = eventOf(1, 10, 'order.shipped');
const refundEvent = eventOf(3, 10, 'refund.due');

const reasons = { placed: 'placed', approved: 'payment succeeded', delivered: 'delivered', cancelled: 'cancelled' };

/** An order of client `c` that went through these statuses, each with its event. */
export function orderThrough(id: number, ...statuses: OrderStatus[]): FinalOrder {
  const transitions = statuses.map((newStatus, n): Transition => ({
    version: n + 1,
    previousStatus: statuses[n - 1] ?? null,
    newStatus,
    eventId: eventOf(id, n).id,
    at: 10 + n,
    actor: newStatus === 'placed' || newStatus === 'cancelled' ? 'owner' : 'staff',
    reason: reasons[newStatus],
    owner: 'c',
  }));
  return { id, plantId, quantity: 2, status: statuses.at(-1)!, version: statuses.length, transitions };
}

export const snapshot: Snapshot = {
  at: 50,
  plants: [{ plantId, free: 6, reserved: 0, sold: 4, placed: 0, taken: 4 }],
  inventoryDrift: { available: 0, pending: 0, sold: 0 },
  orphans: [],
  splitBaskets: [],
};

/** An order that was shipped and transferred to client `d` before it was delivered. */
export function transferredOrder(): FinalOrder {
  const { transitions, ...order } = orderThrough(1, 'placed', 'approved', 'delivered');
  const [placed, approved, delivered] = transitions as [Transition, Transition, Transition];
  const amended = { previousStatus: null, newStatus: 'approved', eventId: null, actor: 'staff' } as const;
  return {
    ...order,
    version: 5,
    transitions: [
      placed,
      approved,
      { ...amended, version: 3, at: 20.2, reason: 'shipped', eventId: shippedEvent.id, owner: 'c' },
      { ...amended, version: 4, at: 20.7, reason: 'transferred', owner: 'd' },
      { ...delivered, version: 5, at: 24, owner: 'd' },
    ],
  };
}

/** An order whose payment came after its cancellation. */
export function refundDueOrder(): FinalOrder {
  const order = orderThrough(3, 'placed', 'cancelled');
  const due = { version: 3, previousStatus: null, newStatus: 'cancelled', eventId: refundEvent.id, at: 32.5, actor: 'staff', reason: 'refund due', owner: 'c' } as const;
  return { ...order, version: 3, transitions: [...order.transitions, due] };
}

export const audited = (operation: string, requestId: string): History['final']['audit'][number] => ({ operation, requestId });
const keySession = { kind: 'revoke', how: 'api key', target: 'a', credentials: ['key a'] } as const;
export const use = (credential: string): ShopRequest => ({ kind: 'use', credential, at: 'gateway-1' });

/**
 * A history without violations. Three orders: one is shipped, transferred and delivered; one is approved while its customer tries to
 * cancel it; one is cancelled before its payment comes. Staff create a plant and delete another, and a customer's key is revoked.
 */
export function history(): { -readonly [Part in keyof History]: History[Part] } {
  const changes = [eventOf(1, 1), eventOf(2, 1), eventOf(1, 2), eventOf(3, 1)];
  const events = [eventOf(1, 0), eventOf(2, 0), eventOf(1, 1), eventOf(3, 0), shippedEvent, eventOf(2, 1), eventOf(1, 2), eventOf(3, 1), refundEvent];
  return {
    calls: [
      call(0, 10, place(1), order(1, 'placed', 1)),
      call(0, 12, { kind: 'place', plantId, quantity: 2, key: 'k' }, order(2, 'placed', 1)),
      call(13, 14, { kind: 'place', plantId, quantity: 2, key: 'k' }, { ...order(2, 'placed', 1), isReplayed: true }),
      byStaff(15, 20, pay(1, 'r'), order(1, 'approved', 2), 'paid-1'),
      call(16, 19, { kind: 'read', orderId: 1 }, order(1, 'placed', 1)),
      byStaff(20.1, 20.4, { kind: 'ship', orderId: 1, key: 'k-ship' }, order(1, 'approved', 3), 'shipped-1'),
      byStaff(20.5, 20.9, { kind: 'transfer', orderId: 1, to: 'd', key: 'k-transfer' }, { ...order(1, 'approved', 4), body: 'transferred' }, 'transferred-1'),
      byStaff(20.6, 21, { kind: 'transfer', orderId: 1, to: 'd', key: 'k-transfer' }, { ...order(1, 'approved', 4), body: 'transferred', isReplayed: true }, 'transferred-2'),
      byStaff(21, 25, { kind: 'deliver', orderId: 1 }, order(1, 'delivered', 5), 'delivered-1'),
      call(30, 31, { kind: 'read', orderId: 1 }, refused('order-not-found', 404)),
      call(30, 31, { kind: 'read', orderId: 1 }, order(1, 'delivered', 5), 'd'),
      byStaff(22, 40, pay(2, 's'), 'lost', 'paid-2'),
      call(23, 41, { kind: 'cancel', orderId: 2 }, refused('order-not-cancellable')),
      call(0, 9, place(3), order(3, 'placed', 1)),
      call(10, 11.5, { kind: 'cancel', orderId: 3 }, order(3, 'cancelled', 2)),
      byStaff(32, 33, pay(3, 't'), refused('order-not-payable'), 'paid-3'),
      byStaff(42, 43, { kind: 'write-name', name: `plant ${plantId}`, value: 1 }, answer(), 'written'),
      call(44, 45, { kind: 'read-name', name: `plant ${plantId}` }, answer({ value: 1 })),
      call(46, 47, { kind: 'inventory' }, answer({ units: 10 })),
      call(46, 47, { kind: 'place', plantId, quantity: 8 }, refused('insufficient-stock')),
      call(48, 49, place(9), unavailable),
      byStaff(33, 34, { kind: 'create', resource: 'plant', mark: 'm', key: 'k-create' }, 'lost', 'created-1'),
      byStaff(52, 53, { kind: 'create', resource: 'plant', mark: 'm', key: 'k-create' }, answer({ body: 'm', isReplayed: true }), 'created-2'),
      byStaff(54, 56, { kind: 'delete-plant', plantId: 8 }, answer(), 'removed'),
      call(55, 57, { kind: 'place', plantId: 8, quantity: 1 }, refused('plant-not-found', 404)),
      call(60, 61, use('key a'), answer()),
      call(62, 63, keySession, answer()),
      call(64, 65, use('key a'), answer()),
      call(64, 66, use('key a'), answer({ status: 401 })),
    ],
    snapshots: [snapshot],
    supplied: new Map([[plantId, 10], [8, undefined]]),
    deletedUsers: new Set(),
    timers: { expireAfterMs: 900_000 },
    databaseClockErrorMs: 0,
    faults: [{ from: 30, to: 40 }],
    addedRests: [],
    objectives: { servedShare: 0.5, recoveryMs: 15_000 },
    gatewayFaults: [{ from: 30, to: 45 }],
    withoutGateway: [{ from: 31, to: 3_000 }],
    mailUsers: [],
    mailFaults: [],
    destinationFaults: [],
    deadlineMs: 11_000,
    unsettled: [],
    final: {
      deadlocks: 0,
      orders: [transferredOrder(), { ...orderThrough(2, 'placed', 'approved') }, refundDueOrder()],
      payments: [{ orderId: 1, reference: 'r', state: 'accepted' }, { orderId: 2, reference: 's', state: 'accepted' }, { orderId: 3, reference: 't', state: 'refund-due' }],
      refundsDue: [{ orderId: 3, paymentReference: 't' }],
      created: [{ resource: 'plant', mark: 'm' }],
      audit: [
        audited('store.reportPayment', 'paid-1'), audited('store.shipOrder', 'shipped-1'), audited('store.transferOrder', 'transferred-1'),
        audited('store.deliverOrder', 'delivered-1'), audited('store.reportPayment', 'paid-2'), audited('store.reportPayment', 'paid-3'),
        audited('catalog.changePlant', 'written'), audited('catalog.createPlant', 'created-1'), audited('catalog.deletePlant', 'removed'),
      ],
      log: events,
      receivers: [{ name: 'receiver', types: eventTypes, events: [...events, eventOf(2, 1)] }, { name: 'receiver of changes', events: [...changes, eventOf(2, 1)] }],
      sockets: [{ name: 'socket', types: eventTypes, events }, { name: 'socket of changes', events: changes }],
      revokedSockets: [{ name: 'key a', events: [eventOf(1, 1)] }],
      mails: [],
      destinations: [],
      epochs: new Map(),
    },
  };
}

export type MutableHistory = ReturnType<typeof history>;

export const add = (...calls: Call[]) => (changing: MutableHistory): void => void (changing.calls = [...changing.calls, ...calls]);
export const withFinal = (more: Partial<History['final']>) => (changing: MutableHistory): void => void (changing.final = { ...changing.final, ...more });
export const inSnapshot = (more: Partial<Snapshot['plants'][number]>) => (changing: MutableHistory): void =>
  void (changing.snapshots = [snapshot, { ...snapshot, plants: [{ ...snapshot.plants[0]!, ...more }] }]);

export const without = (isGone: (call: Call) => boolean) => (changing: MutableHistory): void => void (changing.calls = changing.calls.filter((one) => !isGone(one)));
export const withOrder = (order: FinalOrder) => (changing: MutableHistory): void => withFinal({ orders: changing.final.orders.map((one) => (one.id === order.id ? order : one)) })(changing);
export const withPayments = (stays: (payment: History['final']['payments'][number]) => boolean) => (changing: MutableHistory): void =>
  withFinal({ payments: changing.final.payments.filter(stays) })(changing);
/** Adds an order with its events to the log, and removes the followers. */
export const withNew = (order: FinalOrder) => (it: MutableHistory): void =>
  withFinal({ orders: [...it.final.orders, order], log: [...it.final.log, ...order.transitions.map((_, n) => eventOf(order.id, n))], receivers: [], sockets: [] })(it);
export const many = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

/** Order 2 is approved by a timer, without a payment. */
export function approvedByTimer(changing: MutableHistory): void {
  const { transitions, ...order } = orderThrough(2, 'placed', 'approved');
  withOrder({ ...order, transitions: transitions.map((step) => (step.newStatus === 'approved' ? { ...step, actor: 'store' } : step)) })(changing);
  without(({ request }) => request.kind === 'pay' && request.orderId === 2)(changing);
  withPayments(({ orderId }) => orderId !== 2)(changing);
}

/** Order 3 is cancelled by a timer. */
export const expired = (afterMs: number) => (changing: MutableHistory): void => {
  const { transitions, ...order } = orderThrough(3, 'placed', 'cancelled');
  const step = (one: Transition): Transition => (one.version === 1 ? one : { ...one, actor: 'store', reason: 'expired without payment', at: 10 + afterMs });
  withOrder({ ...order, transitions: transitions.map(step) })(changing);
  // The payment and its refund come after the end of this history.
  const withoutRefund = (events: readonly SeenEvent[]): SeenEvent[] => events.filter(({ id }) => id !== refundEvent.id);
  const { log, receivers, sockets } = changing.final;
  const seen = (all: readonly Follower[]): Follower[] => all.map((one) => ({ ...one, events: withoutRefund(one.events) }));
  withFinal({ log: withoutRefund(log), receivers: seen(receivers), sockets: seen(sockets) })(changing);
};
