import { describe, expect, it } from '@jest/globals';
import { noGateway } from '@plant-shop/testing/balancer';
import { type Answered, type ShopRequest, type Call, type EventType, eventTypes, type FinalOrder, type Follower, type History, type OrderStatus, type SeenEvent, type Snapshot, type Transition } from '../history.js';
import { check } from './check.js';
import { longestRecovery } from './work.js';

const plantId = 7;

const answer = (more: Partial<Answered> = {}): Answered => ({ status: 200, hasRetryAfter: false, isReplayed: false, ...more });
const order = (id: number, status: OrderStatus, version: number) => answer({ order: { id, status, version } });
const refused = (code: string, status = 409) => answer({ status, code });
const unavailable = answer({ status: 503, code: 'unavailable', hasRetryAfter: true });
const unknown = answer({ status: 503, code: 'outcome-unknown', hasRetryAfter: true });
let requests = 0;
const call = (from: number, to: number, request: ShopRequest, of: Call['answer'], client = 'c'): Call => ({ client, request, from, to, answer: of, requestId: `request-${++requests}` });
const byStaff = (from: number, to: number, request: ShopRequest, of: Call['answer'], requestId = `request-${++requests}`): Call => ({ client: 'staff', request, from, to, answer: of, requestId });
const pay = (orderId: number, reference: string): ShopRequest => ({ kind: 'pay', orderId, reference, outcome: 'succeeded' });
const place = (orderId: number): ShopRequest => ({ kind: 'place', plantId, quantity: 2, orderId });

/** @param turn number of the status change; 0 is the placing */
const eventOf = (orderId: number, turn: number, event: EventType = turn === 0 ? 'order.placed' : 'order.status_changed'): SeenEvent => ({
  id: `event-${orderId}-${turn}`,
  body: JSON.stringify({ event, data: { orderId, turn } }),
});
const shippedEvent = eventOf(1, 10, 'order.shipped');
const refundEvent = eventOf(3, 10, 'refund.due');

const reasons = { placed: 'placed', approved: 'payment succeeded', delivered: 'delivered', cancelled: 'cancelled' };

/** An order of client `c` that went through these statuses, each with its event. */
function orderThrough(id: number, ...statuses: OrderStatus[]): FinalOrder {
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

const snapshot: Snapshot = {
  at: 50,
  plants: [{ plantId, free: 6, reserved: 0, sold: 4, placed: 0, taken: 4 }],
  inventoryDrift: { available: 0, pending: 0, sold: 0 },
  orphans: [],
};

/** An order that was shipped and transferred to client `d` before it was delivered. */
function transferredOrder(): FinalOrder {
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
function refundDueOrder(): FinalOrder {
  const order = orderThrough(3, 'placed', 'cancelled');
  const due = { version: 3, previousStatus: null, newStatus: 'cancelled', eventId: refundEvent.id, at: 32.5, actor: 'staff', reason: 'refund due', owner: 'c' } as const;
  return { ...order, version: 3, transitions: [...order.transitions, due] };
}

const audited = (operation: string, requestId: string) => ({ operation, requestId });
const keySession = { kind: 'revoke', how: 'api key', target: 'a', credentials: ['key a'] } as const;
const use = (credential: string): ShopRequest => ({ kind: 'use', credential, at: 'gateway-1' });

/**
 * A history without violations. Three orders: one is shipped, transferred and delivered; one is approved while its customer tries to
 * cancel it; one is cancelled before its payment comes. Staff create a plant and delete another, and a customer's key is revoked.
 */
function history(): { -readonly [Part in keyof History]: History[Part] } {
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
    faults: [{ from: 30, to: 40 }],
    objectives: { servedShare: 0.5, recoveryMs: 15_000 },
    gatewayFaults: [{ from: 30, to: 45 }],
    withoutGateway: [{ from: 31, to: 3_000 }],
    deadlineMs: 11_000,
    unsettled: [],
    final: {
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
    },
  };
}

type MutableHistory = ReturnType<typeof history>;

/** The rules that the history breaks after a change. */
function rulesAfter(change: (changing: MutableHistory) => void): string[] {
  const changed = history();
  change(changed);
  return [...new Set(check(changed).map(({ rule }) => rule))].sort();
}

const add = (...calls: Call[]) => (changing: MutableHistory): void => void (changing.calls = [...changing.calls, ...calls]);
const withFinal = (more: Partial<History['final']>) => (changing: MutableHistory): void => void (changing.final = { ...changing.final, ...more });
const inSnapshot = (more: Partial<Snapshot['plants'][number]>) => (changing: MutableHistory): void =>
  void (changing.snapshots = [snapshot, { ...snapshot, plants: [{ ...snapshot.plants[0]!, ...more }] }]);

const without = (isGone: (call: Call) => boolean) => (changing: MutableHistory): void => void (changing.calls = changing.calls.filter((one) => !isGone(one)));
const withOrder = (order: FinalOrder) => (changing: MutableHistory): void => withFinal({ orders: changing.final.orders.map((one) => (one.id === order.id ? order : one)) })(changing);
const withPayments = (stays: (payment: History['final']['payments'][number]) => boolean) => (changing: MutableHistory): void =>
  withFinal({ payments: changing.final.payments.filter(stays) })(changing);
/** Adds an order with its events to the log, and removes the followers. */
const withNew = (order: FinalOrder) => (it: MutableHistory): void =>
  withFinal({ orders: [...it.final.orders, order], log: [...it.final.log, ...order.transitions.map((_, n) => eventOf(order.id, n))], receivers: [], sockets: [] })(it);
const many = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

/** Order 2 is approved by a timer, without a payment. */
function approvedByTimer(changing: MutableHistory): void {
  const { transitions, ...order } = orderThrough(2, 'placed', 'approved');
  withOrder({ ...order, transitions: transitions.map((step) => (step.newStatus === 'approved' ? { ...step, actor: 'store' } : step)) })(changing);
  without(({ request }) => request.kind === 'pay' && request.orderId === 2)(changing);
  withPayments(({ orderId }) => orderId !== 2)(changing);
}

/** Order 3 is cancelled by a timer. */
const expired = (afterMs: number) => (changing: MutableHistory): void => {
  const { transitions, ...order } = orderThrough(3, 'placed', 'cancelled');
  const step = (one: Transition): Transition => (one.version === 1 ? one : { ...one, actor: 'store', reason: 'expired without payment', at: 10 + afterMs });
  withOrder({ ...order, transitions: transitions.map(step) })(changing);
  // The payment and its refund come after the end of this history.
  const withoutRefund = (events: readonly SeenEvent[]): SeenEvent[] => events.filter(({ id }) => id !== refundEvent.id);
  const { log, receivers, sockets } = changing.final;
  const seen = (all: readonly Follower[]): Follower[] => all.map((one) => ({ ...one, events: withoutRefund(one.events) }));
  withFinal({ log: withoutRefund(log), receivers: seen(receivers), sockets: seen(sockets) })(changing);
};

describe('a history without faults in the shop', () => {
  it('breaks no rule', () => expect(check(history())).toEqual([]));
});

describe.each<[string, string, (changing: MutableHistory) => void]>([
  ['a 500', 'answers', add(call(50, 51, { kind: 'inventory' }, answer({ status: 500, code: 'internal' })))],
  ['a refused valid credential', 'answers', add(call(50, 51, { kind: 'inventory' }, answer({ status: 401, code: 'unauthorized' })))],
  ['a 503 without Retry-After', 'answers', add(call(50, 51, { kind: 'inventory' }, { ...unavailable, hasRetryAfter: false }))],
  ['an answer after the deadline', 'answers', add(call(50, 11_051, { kind: 'inventory' }, unavailable))],
  ['no answer although no gateway was down', 'answers', add(call(50, 60, { kind: 'inventory' }, 'lost'))],
  ['`no-gateway` although one gateway is alive', 'answers', add(call(3_001, 3_002, { kind: 'inventory' }, { ...unavailable, code: noGateway }))],
  ['no answer long after the kill of all gateways', 'answers', add(call(2_000, 2_001, { kind: 'inventory' }, 'lost'))],
  ['an acknowledged order that does not exist', 'acknowledged', add(call(50, 51, place(4), answer({ order: { id: 4, status: 'placed' } })))],
  ['an acknowledged order with another quantity', 'acknowledged', (it) => withFinal({ orders: it.final.orders.map((one) => (one.id === 1 ? { ...one, quantity: 1 } : one)) })(it)],
  ['an order that was refused as unavailable but exists', 'unavailable-did-nothing', (it) => {
    withNew(orderThrough(9, 'placed'))(it);
    add(call(50, 51, { kind: 'place', plantId, quantity: 2 }, { ...unavailable, code: 'outcome-unknown' }))(it);
  }],
  ['a payment that was refused as unavailable but is recorded', 'unavailable-did-nothing', (it) => {
    withFinal({ payments: [...it.final.payments, { orderId: 1, reference: 'u', state: 'failed' }] })(it);
    add(byStaff(50, 51, pay(1, 'u'), unavailable))(it);
  }],
  ['two orders for one key', 'once-per-key', (it) => {
    withNew(orderThrough(4, 'placed'))(it);
    add(call(50, 51, { kind: 'place', plantId, quantity: 2, key: 'k' }, order(4, 'placed', 1)))(it);
  }],
  ['an order that no call can have requested', 'once-per-key', (it) => withNew(orderThrough(4, 'placed'))(it)],
  ['a read that returns an older version than was known', 'register', add(call(50, 51, { kind: 'read', orderId: 1 }, order(1, 'approved', 2)))],
  ['a read that does not find a placed order', 'register', add(call(50, 51, { kind: 'read', orderId: 2 }, refused('order-not-found', 404)))],
  ['an acknowledged cancellation that was lost', 'register', add(call(12, 13, { kind: 'cancel', orderId: 1 }, order(1, 'cancelled', 2)))],
  ['a refusal for a state that the order never had', 'register', add(call(11, 12, { kind: 'cancel', orderId: 1 }, refused('order-not-cancellable')))],
  ['a payment that was seen before it was made', 'register', add(call(13, 14, { kind: 'read', orderId: 1 }, order(1, 'approved', 2)))],
  ['a success that returns the wrong status', 'register', add(call(50, 51, { kind: 'cancel', orderId: 1 }, order(1, 'delivered', 5)))],
  ['a lost unit', 'stock', inSnapshot({ free: 5 })],
  ['more units sold than supplied', 'stock', inSnapshot({ free: -2, sold: 12, taken: 12 })],
  ['reserved units without a placed order', 'stock', inSnapshot({ free: 4, reserved: 2 })],
  ['sold units without an approved order', 'stock', inSnapshot({ taken: 2 })],
  ['an inventory that differs from the stock', 'stock', (it) => (it.snapshots = [{ ...snapshot, inventoryDrift: { available: 1, pending: -1, sold: 0 } }])],
  ['an inventory with another sum', 'stock', add(call(50, 51, { kind: 'inventory' }, answer({ units: 9 })))],
  ['an open order of a closed customer', 'owners', (it) => (it.snapshots = [{ ...snapshot, orphans: [2] }])],
  ['a plant read that misses an acknowledged write', 'own-writes', add(call(50, 51, { kind: 'read-name', name: 'plant 7' }, answer({ value: 0 })))],
  ['a plant read that returns an older value than an earlier read', 'own-writes', (it) => {
    add(call(50, 60, { kind: 'write-name', name: 'plant 7', value: 2 }, 'lost'))(it);
    add(call(51, 52, { kind: 'read-name', name: 'plant 7' }, answer({ value: 2 })), call(53, 54, { kind: 'read-name', name: 'plant 7' }, answer({ value: 1 })))(it);
    it.gatewayFaults = [{ from: 0, to: 100 }];
  }],
  ['a plant read that returns a value that was never written', 'own-writes', add(call(50, 51, { kind: 'read-name', name: 'plant 7' }, answer({ value: 2 })))],
  ['a former owner who can still read the order', 'register', add(call(50, 51, { kind: 'read', orderId: 1 }, order(1, 'delivered', 5)))],
  ['an owner who cannot read the order', 'register', add(call(50, 51, { kind: 'read', orderId: 1 }, refused('order-not-found', 404), 'd'))],
  ['a step that is missing from the timeline', 'timeline', (it) => {
    const [first, second, third] = it.final.orders as [FinalOrder, FinalOrder, FinalOrder];
    const orders = [first, { ...second, transitions: second.transitions.slice(0, 1) }, third];
    withFinal({ orders, payments: it.final.payments.filter(({ orderId }) => orderId !== 2), log: it.final.log.filter(({ id }) => id !== 'event-2-1'), receivers: [], sockets: [] })(it);
    without(({ request }) => 'orderId' in request && request.orderId === 2)(it);
  }],
  ['a step that the lifecycle does not allow', 'timeline', (it) => {
    withNew(orderThrough(9, 'placed', 'delivered'))(it);
    it.calls = it.calls.map((one) => (one.request.kind === 'place' && one.request.orderId === 9 ? { ...one, answer: answer({ status: 503, code: 'outcome-unknown', hasRetryAfter: true }) } : one));
    add(byStaff(31, 32, { kind: 'deliver', orderId: 9 }, 'lost'))(it);
  }],
  ['a shipment that changes the status', 'timeline', (it) => {
    const transitions = transferredOrder().transitions.map((step) => (step.reason === 'shipped' ? { ...step, newStatus: 'delivered' as const } : step));
    withOrder({ ...transferredOrder(), transitions })(it);
    without(({ request }) => request.kind === 'ship')(it);
    add(byStaff(20.1, 32, { kind: 'ship', orderId: 1 }, 'lost'))(it);
  }],
  ['a delivery without a request', 'unasked', (it) => {
    withOrder(orderThrough(2, 'placed', 'approved', 'delivered'))(it);
    withFinal({ log: [...it.final.log, eventOf(2, 2)], receivers: [], sockets: [] })(it);
  }],
  ['a cancellation without a request', 'unasked', without(({ request }) => request.kind === 'cancel' && request.orderId === 3)],
  ['a cancellation before its request', 'unasked', (it) => {
    const late = { ...call(5_000, 5_001, { kind: 'cancel', orderId: 3 }, 'lost'), from: 5_000 };
    without(({ request }) => request.kind === 'cancel' && request.orderId === 3)(it);
    add(late)(it);
    it.gatewayFaults = [{ from: 0, to: 6_000 }];
  }],
  ['a failed payment that approves the order', 'unasked', (it) => {
    it.calls = it.calls.map((one) => (one.request.kind === 'pay' && one.request.orderId === 2 ? { ...one, request: { ...one.request, outcome: 'failed' } } : one));
  }],
  ['a transfer to another customer than requested', 'unasked', (it) => {
    it.calls = it.calls.map((one) => (one.request.kind === 'transfer' ? { ...one, request: { ...one.request, to: 'e' } } : one));
  }],
  ['an approval by a timer although payments are external', 'unasked', approvedByTimer],
  ['a delivery by a timer although payments are external', 'unasked', (it) => {
    withOrder({ ...transferredOrder(), transitions: transferredOrder().transitions.map((step) => (step.newStatus === 'delivered' ? { ...step, actor: 'store' } : step)) })(it);
  }],
  ['an order that expires before its time', 'expiry', expired(899_000)],
  ['an acknowledged payment whose row is missing', 'payments', withPayments((one) => one.reference !== 'r')],
  ['an acknowledged payment that is recorded as failed', 'payments', (it) => withFinal({ payments: [{ orderId: 1, reference: 'r', state: 'failed' }, ...it.final.payments.slice(1)] })(it)],
  ['a late payment that is not recorded as a refund due', 'payments', withPayments((one) => one.reference !== 't')],
  ['a late payment that is recorded as accepted', 'payments', (it) => withFinal({ payments: [...it.final.payments.slice(0, 2), { orderId: 3, reference: 't', state: 'accepted' }] })(it)],
  ['two payments for one order', 'payments', (it) => {
    add(byStaff(50, 51, pay(1, 'u'), 'lost'))(it);
    withFinal({ payments: [...it.final.payments, { orderId: 1, reference: 'u', state: 'accepted' }] })(it);
    it.gatewayFaults = [{ from: 0, to: 100 }];
  }],
  ['a refund of a payment that was not reported by then', 'unasked', withOrder({ ...refundDueOrder(), transitions: refundDueOrder().transitions.map((step) => (step.reason === 'refund due' ? { ...step, at: -2_000 } : step)) })],
  ['a due refund that is not listed', 'payments', withFinal({ refundsDue: [] })],
  ['a payment that was never reported', 'payments', (it) => withFinal({ payments: [...it.final.payments, { orderId: 1, reference: 'u', state: 'failed' }] })(it)],
  ['404 for an existing plant', 'refusals', add(call(50, 51, { kind: 'read-name', name: `plant ${plantId}` }, refused('plant-not-found', 404)))],
  ['404 for an order of an existing plant', 'refusals', add(call(50, 51, place(11), refused('plant-not-found', 404)))],
  ['404 for a plant before its deletion was requested', 'refusals', add(call(50, 51, { kind: 'place', plantId: 8, quantity: 1 }, refused('plant-not-found', 404)))],
  ['a plant that is found after its deletion', 'refusals', add(call(58, 59, { kind: 'read-name', name: 'plant 8' }, answer({ value: 0 })))],
  ['`insufficient-stock` with enough free units', 'refusals', add(call(50, 51, { kind: 'place', plantId, quantity: 6 }, refused('insufficient-stock')))],
  ['`order-exists` for an unused id', 'refusals', add(call(50, 51, place(11), refused('order-exists')))],
  ['`order-exists` for an order without an id', 'refusals', add(call(50, 51, { kind: 'place', plantId, quantity: 1 }, refused('order-exists')))],
  ['`plant-not-available` for a plant that is for sale', 'refusals', add(call(50, 51, place(11), refused('plant-not-available')))],
  ['`customer-closed` for an account that is not being deleted', 'refusals', add(call(50, 51, place(11), refused('customer-closed')))],
  ['a run in which everything is 503', 'work', (it) => add(...many(80, (n) => call(50 + n, 51 + n, { kind: 'read', orderId: n + 100 }, unavailable)))(it)],
  ['a kind of request that is never served', 'work', (it) => add(
    ...many(100, (n) => call(50 + n, 51 + n, { kind: 'read-name', name: 'plant 9' }, answer({ value: 0 }))),
    ...many(20, (n) => call(50 + n, 51 + n, { kind: 'inventory' }, unavailable)),
  )(it)],
  ['a recovery that takes too long', 'work', add(...many(17, (n) => call(41 + n * 1_000, 42 + n * 1_000, { kind: 'inventory' }, unavailable)))],
  ['no recovery between faults', 'work', (it) => {
    it.faults = many(30, (n) => ({ from: 1_000 * n, to: 1_000 * n }));
    add(...many(17, (n) => call(500 + n * 1_000, 501 + n * 1_000, { kind: 'inventory' }, unavailable)))(it);
  }],
  ['calls that hang although no fault hit them', 'work', (it) => {
    it.faults = many(30, (n) => ({ from: 4_000 * n, to: 4_000 * n }));
    add(...many(3, (n) => call(1_000 + n * 12_000, 11_000 + n * 12_000, { kind: 'inventory' }, unknown)))(it);
  }],
  ['a run without calls outside faults', 'work', (it) => (it.faults = [{ from: 0, to: 1_000 }])],
  ['a key that works more than a second after its revocation', 'revoked', add(call(1_064, 1_065, use('key a'), answer()))],
  ['a socket that gets an event from more than a second after the revocation of its key', 'revoked', (it) => {
    const [, second] = it.final.orders as [FinalOrder, FinalOrder];
    withOrder({ ...second, transitions: second.transitions.map((step) => ({ ...step, at: 1_200 })) })(it);
    withFinal({ revokedSockets: [{ name: 'key a', events: [eventOf(2, 1)] }] })(it);
  }],
  ['a refused key that was not revoked', 'answers', add(call(50, 51, use('key b'), answer({ status: 401 })))],
  ['two different answers for one key', 'once-per-key', add(byStaff(50, 51, { kind: 'transfer', orderId: 1, to: 'd', key: 'k-transfer' }, answer({ body: 'another' })))],
  ['a request that is refused after an earlier success with the same key', 'once-per-key', add(byStaff(60, 61, { kind: 'create', resource: 'plant', mark: 'm', key: 'k-create' }, refused('plant-exists')))],
  ['a resource that was created twice with one key', 'once-per-key', (it) => withFinal({ created: [...it.final.created, ...it.final.created] })(it)],
  ['an acknowledged resource that does not exist', 'acknowledged', withFinal({ created: [] })],
  ['two shipments for one key', 'once-per-key', (it) => {
    const shipped = transferredOrder().transitions[2]!;
    const { transitions, ...second } = it.final.orders[1]!;
    const again = [3, 4].map((version) => ({ event: eventOf(2, version, 'order.shipped'), version }));
    withOrder({ ...second, version: 4, transitions: [...transitions, ...again.map(({ event, version }) => ({ ...shipped, version, eventId: event.id }))] })(it);
    withFinal({ log: [...it.final.log, ...again.map(({ event }) => event)], receivers: [], sockets: [] })(it);
    add(byStaff(31, 32, { kind: 'ship', orderId: 2, key: 'k-2' }, 'lost'))(it);
  }],
  ['an acknowledged shipment that does not exist', 'acknowledged', (it) => {
    add(byStaff(50, 51, { kind: 'ship', orderId: 2 }, order(2, 'approved', 2), 'shipped-2'))(it);
    withFinal({ audit: [...it.final.audit, audited('store.shipOrder', 'shipped-2')] })(it);
  }],
  ['two audit log entries for one key', 'once-per-key', (it) => withFinal({ audit: [...it.final.audit, audited('store.transferOrder', 'transferred-2')] })(it)],
  ...['paid-1', 'shipped-1', 'transferred-1', 'delivered-1', 'written', 'created-1', 'removed'].map((gone): [string, string, (changing: MutableHistory) => void] => [
    `a missing audit log entry (${gone})`,
    'audit',
    (it) => withFinal({ audit: it.final.audit.filter(({ requestId }) => requestId !== gone) })(it),
  ]),
  ['an event that is missing from the log', 'log', (it) => withFinal({ log: it.final.log.filter(({ id }) => id !== 'event-1-2'), receivers: [], sockets: [] })(it)],
  ['an event that is in the log twice', 'log', (it) => withFinal({ log: [...it.final.log, eventOf(1, 2)] })(it)],
  ['an event of a change that never happened', 'log', (it) => withFinal({ log: [...it.final.log, eventOf(1, 3)] })(it)],
  ['a webhook that never came', 'receivers', withFinal({ receivers: [{ name: 'receiver', events: [eventOf(1, 1), eventOf(1, 2)] }] })],
  ['webhooks of one order out of sequence', 'receivers', withFinal({ receivers: [{ name: 'receiver', events: [eventOf(2, 1), eventOf(1, 2), eventOf(1, 1)] }] })],
  ['a webhook that is resent with different bytes', 'receivers', (it) => withFinal({ receivers: [{ name: 'receiver', types: eventTypes, events: [...it.final.log, { ...eventOf(1, 1), body: `${eventOf(1, 1).body} ` }] }] })(it)],
  ['a client that gets an event twice', 'sockets', (it) => withFinal({ sockets: [{ name: 'socket', types: eventTypes, events: [...it.final.log, eventOf(2, 1)] }] })(it)],
  ['a client that misses an event', 'sockets', (it) => withFinal({ sockets: [{ name: 'socket', types: eventTypes, events: it.final.log.slice(0, 2) }] })(it)],
  ['an order that was placed without an event', 'timeline', (it) => {
    withOrder({ ...it.final.orders[1]!, transitions: it.final.orders[1]!.transitions.map((step, n) => (n === 0 ? { ...step, eventId: null } : step)) })(it);
    withFinal({ log: it.final.log.filter(({ id }) => id !== 'event-2-0'), receivers: [], sockets: [] })(it);
  }],
  ['an event of a transfer', 'timeline', (it) => {
    withOrder({ ...transferredOrder(), transitions: transferredOrder().transitions.map((step) => (step.reason === 'transferred' ? { ...step, eventId: 'event-1-11' } : step)) })(it);
    withFinal({ receivers: [], sockets: [] })(it);
  }],
  ['a placed order whose event is missing from the log', 'log', (it) => withFinal({ log: it.final.log.filter(({ id }) => id !== 'event-2-0'), receivers: [], sockets: [] })(it)],
  ['an event whose type does not match its step', 'log', (it) => withFinal({ log: it.final.log.map((one) => (one.id === 'event-2-0' ? eventOf(2, 0, 'order.shipped') : one)), receivers: [], sockets: [] })(it)],
  ['a client of all types that misses the event of a placed order', 'sockets', (it) =>
    withFinal({ sockets: [{ name: 'socket', types: eventTypes, events: it.final.log.filter(({ id }) => id !== 'event-2-0') }] })(it)],
  ['a client that gets types that it did not request', 'sockets', (it) => withFinal({ sockets: [{ name: 'socket', events: it.final.log }] })(it)],
  ['a shipment event before the approval event', 'receivers', (it) =>
    withFinal({ receivers: [{ name: 'receiver', types: eventTypes, events: [shippedEvent, ...it.final.log.filter(({ id }) => id !== shippedEvent.id)] }] })(it)],
  ['work that stays pending', 'settled', (it) => (it.unsettled = ['3 events have no number'])],
])('%s', (_what, rule, change) => {
  it(`breaks the rule "${rule}" and no other`, () => expect(rulesAfter(change)).toEqual([rule]));
});

describe('the recovery time', () => {
  it('ignores requests that are still in flight at the next fault', () => {
    const faults = [{ from: 1_000, to: 2_000 }, { from: 5_000, to: 5_000 }];
    const calls = [call(2_100, 2_300, { kind: 'inventory' }, unavailable), call(4_900, 14_900, { kind: 'inventory' }, unavailable)];
    expect(longestRecovery(calls, faults)?.ms).toBe(300);
  });
});

describe('the longest period without a served call', () => {
  it('ignores calls that were lost to faults', () => {
    const faults = many(30, (n) => ({ from: 4_000 * n, to: 4_000 * n }));
    const lost = many(3, (n) => call(3_950 + n * 12_000, 13_950 + n * 12_000, { kind: 'inventory' }, unknown));
    expect(rulesAfter((it) => {
      it.faults = faults;
      add(...lost)(it);
    })).toEqual([]);
  });
});

describe('the share of served calls', () => {
  it('is not dominated by quick refusals in the seconds after a fault', () => {
    expect(rulesAfter(add(
      ...many(400, (n) => call(50 + n * 10, 51 + n * 10, { kind: 'inventory' }, unavailable)),
      ...many(120, (n) => call(5_000 + n * 50, 5_010 + n * 50, { kind: 'inventory' }, answer({ units: 10 }))),
    ))).toEqual([]);
  });
});

describe('timers of orders', () => {
  it('may expire an order when it is due', () => expect(rulesAfter(expired(900_000))).toEqual([]));

  it('run from the placing, and a transfer does not restart them', () => {
    const transferred = (ageMs: number) => (it: MutableHistory): void => {
      expired(ageMs)(it);
      const order = it.final.orders.find(({ id }) => id === 3)!;
      const [placed, cancelled] = order.transitions as [Transition, Transition];
      withOrder({ ...order, transitions: [placed, { ...placed, version: 2, reason: 'transferred', at: placed.at + 1_000 }, { ...cancelled, version: 3 }] })(it);
    };
    expect(rulesAfter(transferred(900_000))).not.toContain('expiry');
    expect(rulesAfter(transferred(899_000))).toContain('expiry');
  });

  it('may approve an order if payments are simulated', () => {
    expect(rulesAfter((it) => {
      approvedByTimer(it);
      it.timers = { ...it.timers, approveAfterMs: 1 };
    })).toEqual([]);
  });

  it('may not approve an order before its time', () => {
    expect(rulesAfter((it) => {
      approvedByTimer(it);
      it.timers = { ...it.timers, approveAfterMs: 5_000 };
    })).toEqual(['expiry']);
  });
});

describe('while all gateways are dead', () => {
  it('clients may get 503 `no-gateway`', () => {
    expect(rulesAfter(add(call(2_000, 2_001, { kind: 'inventory' }, { ...unavailable, code: noGateway })))).toEqual([]);
  });
});

describe('a request in flight at a killed gateway', () => {
  it('may have taken effect, which other calls may see before it is retried', () => {
    expect(rulesAfter((it) => {
      const [first, again] = ['transferred-1', 'transferred-2'].map((id) => it.calls.findIndex(({ requestId }) => requestId === id)) as [number, number];
      it.calls = it.calls
        .with(first, { ...it.calls[first]!, answer: 'lost' })
        .with(again, { ...it.calls[again]!, from: 26, to: 27 });
      it.gatewayFaults = [{ from: 20, to: 45 }];
    })).toEqual([]);
  });

  it('may be lost or late', () => {
    const during = [call(40, 41, { kind: 'inventory' }, 'lost'), call(40, 14_000, { kind: 'inventory' }, unavailable)];
    expect(rulesAfter(add(...during))).toEqual([]);
  });
});
