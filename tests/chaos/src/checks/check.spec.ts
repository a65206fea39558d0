import { describe, expect, it } from '@jest/globals';
import { noGateway } from '@plant-shop/testing/balancer';
import { eventTypes, type FinalOrder, type Transition } from '../history.js';
import { check } from './check.js';
import { add, answer, approvedByTimer, audited, byStaff, call, eventOf, expired, history, inSnapshot, many, type MutableHistory, order, orderThrough, pay, place, plantId, refundDueOrder, refused, shippedEvent, snapshot, transferredOrder, unavailable, unknown, use, withFinal, withNew, withOrder, without, withPayments } from './history.spec.fixture.js';
import { longestRecovery } from './work.js';

/** The rules that the history breaks after a change. */
function rulesAfter(change: (changing: MutableHistory) => void): string[] {
  const changed = history();
  change(changed);
  return [...new Set(check(changed).map(({ rule }) => rule))].sort();
}

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
  ['a deadlock', 'deadlocks', withFinal({ deadlocks: 1 })],
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
  ['service only in the time by which a fault came late', 'work', (it) => {
    it.addedRests = [{ from: 5_000, to: 9_000 }];
    add(
      ...many(80, (n) => call(50 + n * 50, 51 + n * 50, { kind: 'inventory' }, unavailable)),
      ...many(100, (n) => call(5_000 + n * 40, 5_010 + n * 40, { kind: 'inventory' }, answer({ units: 10 }))),
    )(it);
  }],
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

describe('a basket', () => {
  const ids = [21, 22];
  const basket = { mark: 'b', lines: 2 };
  /** Two orders that were placed and cancelled together. */
  const cancelledBasket = (it: MutableHistory): void => {
    for (const id of ids) {
      withNew({ ...orderThrough(id, 'placed', 'cancelled'), basket: { id: 21, mark: 'b' } })(it);
      add(call(8, 9, { kind: 'place', plantId, quantity: 2, basket }, answer({ order: { id, status: 'placed' } })))(it);
      add(call(10, 11.5, { kind: 'cancel', orderId: id, basket }, answer({ order: { id, status: 'cancelled' } })))(it);
    }
  };
  const rulesOf = (change: (it: MutableHistory) => void): string[] =>
    rulesAfter((it) => {
      cancelledBasket(it);
      change(it);
    });
  const second = (it: MutableHistory): FinalOrder => it.final.orders.find(({ id }) => id === 22)!;

  it('may be placed and cancelled whole', () => expect(rulesOf(() => undefined)).toEqual([]));

  it.each<[string, (it: MutableHistory) => void]>([
    ['of which an order is missing', (it) => withFinal({ orders: it.final.orders.filter(({ id }) => id !== 22) })(it)],
    ['of which an order was not cancelled', (it) => withOrder({ ...second(it), status: 'placed', version: 1, transitions: second(it).transitions.slice(0, 1) })(it)],
    ['of which an order was cancelled later', (it) => withOrder({ ...second(it), transitions: second(it).transitions.map((step, n) => ({ ...step, at: step.at + n / 10 })) })(it)],
    ['of which an order was paid', (it) => withFinal({ payments: [...it.final.payments, { orderId: 22, reference: 'late', state: 'refund-due' }] })(it)],
    ['that exists twice', (it) => withOrder({ ...second(it), basket: { id: 22, mark: 'b' } })(it)],
    ['that was never requested', (it) => withOrder({ ...second(it), basket: { id: 21, mark: 'c' } })(it)],
    ['of which a snapshot shows a part', (it) => (it.snapshots = [{ ...snapshot, splitBaskets: [21] }])],
  ])('%s is found', (_, change) => expect(rulesOf(change)).toContain('baskets'));
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

  it('may not approve an order before its time, unless the clock of the databases may have been wrong by as much', () => {
    const early = (errorMs: number) => (it: MutableHistory): void => {
      approvedByTimer(it);
      it.timers = { ...it.timers, approveAfterMs: 5_000 };
      it.databaseClockErrorMs = errorMs;
    };
    expect(rulesAfter(early(0))).toEqual(['expiry']);
    expect(rulesAfter(early(5_000))).toEqual([]);
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
