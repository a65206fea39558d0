import { describe, expect, it } from '@jest/globals';
import { type Answered, type Ask, type Call, type FinalOrder, type History, noGateway, type OrderStatus, type SeenEvent, type Snapshot } from '../history.js';
import { check } from './check.js';

const plantId = 7;

const answer = (more: Partial<Answered> = {}): Answered => ({ status: 200, hasRetryAfter: false, isReplayed: false, ...more });
const order = (id: number, status: OrderStatus, version: number) => answer({ order: { id, status, version } });
const refused = (code: string, status = 409) => answer({ status, code });
const unavailable = answer({ status: 503, code: 'unavailable', hasRetryAfter: true });
const call = (from: number, to: number, ask: Ask, of: Call['answer']): Call => ({ client: 'c', ask, from, to, answer: of });
const place = (orderId: number): Ask => ({ kind: 'place', plantId, quantity: 2, orderId });

const eventOf = (orderId: number, turn: number): SeenEvent => ({
  id: `event-${orderId}-${turn}`,
  body: JSON.stringify({ event: 'order.status_changed', data: { orderId, turn } }),
});

/** An order that went through these, each with its event but the first. */
function orderThrough(id: number, ...statuses: OrderStatus[]): FinalOrder {
  const transitions = statuses.map((newStatus, n) => ({
    version: n + 1,
    previousStatus: statuses[n - 1] ?? null,
    newStatus,
    eventId: n === 0 ? null : eventOf(id, n).id,
  }));
  return { id, plantId, quantity: 2, status: statuses.at(-1)!, version: statuses.length, transitions };
}

const snapshot: Snapshot = {
  at: 50,
  plants: [{ plantId, free: 6, reserved: 0, sold: 4, placed: 0, taken: 4 }],
  inventoryDrift: { available: 0, pending: 0, sold: 0 },
  orphans: [],
};

/** Two orders; one is delivered, one approved while its customer wants to cancel. All as it should be. */
function history(): { -readonly [Part in keyof History]: History[Part] } {
  const events = [eventOf(1, 1), eventOf(2, 1), eventOf(1, 2)];
  return {
    calls: [
      call(0, 10, place(1), order(1, 'placed', 1)),
      call(0, 12, { kind: 'place', plantId, quantity: 2, key: 'k' }, order(2, 'placed', 1)),
      call(13, 14, { kind: 'place', plantId, quantity: 2, key: 'k' }, { ...order(2, 'placed', 1), isReplayed: true }),
      call(15, 20, { kind: 'pay', orderId: 1, reference: 'r' }, order(1, 'approved', 2)),
      call(16, 30, { kind: 'read', orderId: 1 }, order(1, 'placed', 1)),
      call(21, 25, { kind: 'deliver', orderId: 1 }, order(1, 'delivered', 3)),
      call(22, 40, { kind: 'pay', orderId: 2, reference: 's' }, 'lost'),
      call(23, 41, { kind: 'cancel', orderId: 2 }, refused('order-not-cancellable')),
      call(42, 43, { kind: 'write', name: 'plant 7', value: 1 }, answer()),
      call(44, 45, { kind: 'look', name: 'plant 7' }, answer({ value: 1 })),
      call(46, 47, { kind: 'inventory' }, answer({ units: 10 })),
      call(48, 49, place(9), unavailable),
    ],
    snapshots: [snapshot],
    supplied: new Map([[plantId, 10]]),
    leavers: new Set(),
    ordersExpire: false,
    gatewayFaults: [{ from: 30, to: 45 }],
    withoutGateway: [{ from: 31, to: 3_000 }],
    deadlineMs: 11_000,
    unsettled: [],
    final: {
      orders: [orderThrough(1, 'placed', 'approved', 'delivered'), orderThrough(2, 'placed', 'approved')],
      payments: [{ orderId: 1, reference: 'r' }, { orderId: 2, reference: 's' }],
      log: events,
      receivers: [{ name: 'receiver', events: [...events, eventOf(2, 1)] }],
      sockets: [{ name: 'socket', events }],
    },
  };
}

type Changing = ReturnType<typeof history>;

/** The rules that say no after one thing was changed. */
function rulesAfter(change: (changing: Changing) => void): string[] {
  const changed = history();
  change(changed);
  return [...new Set(check(changed).map(({ rule }) => rule))].sort();
}

const add = (...calls: Call[]) => (changing: Changing): void => void (changing.calls = [...changing.calls, ...calls]);
const inTheEnd = (more: Partial<History['final']>) => (changing: Changing): void => void (changing.final = { ...changing.final, ...more });
const inSnapshot = (more: Partial<Snapshot['plants'][number]>) => (changing: Changing): void =>
  void (changing.snapshots = [snapshot, { ...snapshot, plants: [{ ...snapshot.plants[0]!, ...more }] }]);

describe('a history in which all went well', () => {
  it('breaks no rule', () => expect(check(history())).toEqual([]));
});

describe.each<[string, string, (changing: Changing) => void]>([
  ['a 500', 'answers', add(call(50, 51, { kind: 'inventory' }, answer({ status: 500, code: 'internal' })))],
  ['a live credential that is refused', 'answers', add(call(50, 51, { kind: 'inventory' }, answer({ status: 401, code: 'unauthorized' })))],
  ['a 503 that does not say when to come back', 'answers', add(call(50, 51, { kind: 'inventory' }, { ...unavailable, hasRetryAfter: false }))],
  ['an answer after the deadline', 'answers', add(call(50, 11_051, { kind: 'inventory' }, unavailable))],
  ['no answer, though no gateway was away', 'answers', add(call(50, 60, { kind: 'inventory' }, 'lost'))],
  ['no gateway that takes a connection, though one is alive', 'answers', add(call(3_001, 3_002, { kind: 'inventory' }, { ...unavailable, code: noGateway }))],
  ['no answer long after the kill of all gateways', 'answers', add(call(2_000, 2_001, { kind: 'inventory' }, 'lost'))],
  ['an acknowledged order that is not there', 'acknowledged', add(call(50, 51, place(3), answer({ order: { id: 3, status: 'placed' } })))],
  ['an acknowledged order of another quantity', 'acknowledged', (it) => inTheEnd({ orders: it.final.orders.map((one) => (one.id === 1 ? { ...one, quantity: 1 } : one)) })(it)],
  ['an order that was refused as unavailable, and is there', 'unavailable-did-nothing', (it) => {
    inTheEnd({ orders: [...it.final.orders, orderThrough(9, 'placed')] })(it);
    add(call(50, 51, { kind: 'place', plantId, quantity: 2 }, { ...unavailable, code: 'outcome-unknown' }))(it);
  }],
  ['a payment that was refused as unavailable, and is noted', 'unavailable-did-nothing', (it) => {
    inTheEnd({ payments: [...it.final.payments, { orderId: 1, reference: 't' }] })(it);
    add(call(50, 51, { kind: 'pay', orderId: 1, reference: 't' }, unavailable))(it);
  }],
  ['two orders for one key', 'once-per-key', (it) => {
    inTheEnd({ orders: [...it.final.orders, orderThrough(3, 'placed')] })(it);
    add(call(50, 51, { kind: 'place', plantId, quantity: 2, key: 'k' }, order(3, 'placed', 1)))(it);
  }],
  ['an order that nobody can have asked for', 'once-per-key', (it) => inTheEnd({ orders: [...it.final.orders, orderThrough(3, 'placed')] })(it)],
  ['a read of an older state than was known', 'register', add(call(50, 51, { kind: 'read', orderId: 1 }, order(1, 'approved', 2)))],
  ['a read of an order that is not there although it was placed', 'register', add(call(50, 51, { kind: 'read', orderId: 1 }, refused('order-not-found', 404)))],
  ['a cancellation that was acknowledged, and lost', 'register', add(call(12, 13, { kind: 'cancel', orderId: 1 }, order(1, 'cancelled', 2)))],
  ['a refusal for a state that the order never had', 'register', add(call(11, 12, { kind: 'cancel', orderId: 1 }, refused('order-not-cancellable')))],
  ['a payment that was seen before it was made', 'register', add(call(13, 14, { kind: 'read', orderId: 1 }, order(1, 'approved', 2)))],
  ['a success that tells another state', 'register', add(call(50, 51, { kind: 'cancel', orderId: 1 }, order(1, 'delivered', 3)))],
  ['a unit that is gone', 'stock', inSnapshot({ free: 5 })],
  ['more sold than there was', 'stock', inSnapshot({ free: -2, sold: 12, taken: 12 })],
  ['units that are still reserved for nobody', 'stock', inSnapshot({ free: 4, reserved: 2 })],
  ['units sold that nobody took', 'stock', inSnapshot({ taken: 2 })],
  ['an inventory that differs from the stock', 'stock', (it) => (it.snapshots = [{ ...snapshot, inventoryDrift: { available: 1, pending: -1, sold: 0 } }])],
  ['an inventory that adds up to something else', 'stock', add(call(50, 51, { kind: 'inventory' }, answer({ units: 9 })))],
  ['an open order of a customer who is gone', 'owners', (it) => (it.snapshots = [{ ...snapshot, orphans: [2] }])],
  ['a look that does not show what was acknowledged', 'own-writes', add(call(50, 51, { kind: 'look', name: 'plant 7' }, answer({ value: 0 })))],
  ['a look that shows less than one before it', 'own-writes', (it) => {
    add(call(50, 60, { kind: 'write', name: 'plant 7', value: 2 }, 'lost'))(it);
    add(call(51, 52, { kind: 'look', name: 'plant 7' }, answer({ value: 2 })), call(53, 54, { kind: 'look', name: 'plant 7' }, answer({ value: 1 })))(it);
    it.gatewayFaults = [{ from: 0, to: 100 }];
  }],
  ['a look that shows what nobody wrote', 'own-writes', add(call(50, 51, { kind: 'look', name: 'plant 7' }, answer({ value: 2 })))],
  ['a step that is missing in the timeline', 'timeline', (it) => {
    const [first, second] = [it.final.orders[0]!, it.final.orders[1]!];
    inTheEnd({ orders: [first, { ...second, transitions: second.transitions.slice(0, 1) }], log: it.final.log.filter(({ id }) => id !== 'event-2-1'), receivers: [], sockets: [] })(it);
    it.calls = it.calls.filter(({ ask }) => !('orderId' in ask) || ask.orderId !== 2);
  }],
  ['a step that the lifecycle does not know', 'timeline', (it) => {
    inTheEnd({ orders: [...it.final.orders, { ...orderThrough(9, 'placed', 'delivered') }], log: [...it.final.log, eventOf(9, 1)], receivers: [], sockets: [] })(it);
    it.calls = it.calls.map((one) => (one.ask.kind === 'place' && one.ask.orderId === 9 ? { ...one, answer: answer({ status: 503, code: 'outcome-unknown', hasRetryAfter: true }) } : one));
  }],
  ['an event that the log lacks', 'log', (it) => inTheEnd({ log: it.final.log.filter(({ id }) => id !== 'event-1-2'), receivers: [], sockets: [] })(it)],
  ['an event that is in the log twice', 'log', (it) => inTheEnd({ log: [...it.final.log, eventOf(1, 2)] })(it)],
  ['an event of a change that never was', 'log', (it) => inTheEnd({ log: [...it.final.log, eventOf(1, 3)] })(it)],
  ['a webhook that never came', 'receivers', inTheEnd({ receivers: [{ name: 'receiver', events: [eventOf(1, 1), eventOf(1, 2)] }] })],
  ['webhooks of one order in another order', 'receivers', inTheEnd({ receivers: [{ name: 'receiver', events: [eventOf(2, 1), eventOf(1, 2), eventOf(1, 1)] }] })],
  ['a webhook that comes again with other bytes', 'receivers', (it) => inTheEnd({ receivers: [{ name: 'receiver', events: [...it.final.log, { ...eventOf(1, 1), body: `${eventOf(1, 1).body} ` }] }] })(it)],
  ['a client that is told twice', 'sockets', (it) => inTheEnd({ sockets: [{ name: 'socket', events: [...it.final.log, eventOf(2, 1)] }] })(it)],
  ['a client that misses an event', 'sockets', (it) => inTheEnd({ sockets: [{ name: 'socket', events: it.final.log.slice(0, 2) }] })(it)],
  ['something that never came to rest', 'settled', (it) => (it.unsettled = ['3 events have no number'])],
])('%s', (_what, rule, change) => {
  it(`breaks the rule "${rule}" and no other`, () => expect(rulesAfter(change)).toEqual([rule]));
});

describe('while all gateways are dead', () => {
  it('nobody can be asked, and clients are told so', () => {
    expect(rulesAfter(add(call(2_000, 2_001, { kind: 'inventory' }, { ...unavailable, code: noGateway })))).toEqual([]);
  });
});

describe('what a gateway had when it was killed', () => {
  it('may be lost or late', () => {
    const during = [call(40, 41, { kind: 'inventory' }, 'lost'), call(40, 14_000, { kind: 'inventory' }, unavailable)];
    expect(rulesAfter(add(...during))).toEqual([]);
  });
});
