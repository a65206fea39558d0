import { describe, expect, it } from '@jest/globals';
import { orderStatuses } from '@plant-shop/contracts/store';
import { CodedError } from '@plant-shop/platform/errors';
import fc from 'fast-check';
import { addUnits, inventoryOf, noUnits, type PlantListing } from '../stock/stock.js';
import { SequentialModel } from './sequential-model.spec.fixture.js';
import type { CheckoutPolicy } from '../config.js';
import {
  applyDueTransition,
  approve,
  type ApprovedOrder,
  cancel,
  cancelPaid,
  completeRefund,
  deliver,
  type DeliveredOrder,
  expire,
  markRefundDue,
  type OrderState,
  ship,
  type StatusChange,
  transfer,
  type Transition,
  transitions,
} from './order.js';
import { type OrderRequest, place, type PlacingFacts } from './placing.js';

const alice = '00000000-0000-4000-8000-00000000000a';
const bob = '00000000-0000-4000-8000-00000000000b';
const at = new Date('2026-11-22T10:00:00.000Z');
const staff = { actor: 'staff', at };
const customer = { actor: alice, at, now: at };
const external: CheckoutPolicy = { provider: 'external', orderTtlMs: 60_000, approvalDelayMs: 1, deliveryDelayMs: 2, unpaid: { orders: 20, units: 200 }, shownUpTo: 10 };
const simulated: CheckoutPolicy = { ...external, provider: 'simulated' };

const noOwnerData = { externalId: null, metadata: null, shipTo: null };
const request = (given: Partial<OrderRequest> = {}): OrderRequest => ({ id: 1, plantId: 7, quantity: 3, shipDate: null, ...noOwnerData, ...given });
const facts = (given: Partial<PlacingFacts> = {}): PlacingFacts => ({
  stock: { listing: 'available', free: 10 },
  isCustomerClosed: false,
  isIdTaken: false,
  unpaid: undefined,
  seesStock: false,
  ...given,
});
const unpaid = (count: number) => Array.from({ length: count }, (_, n) => ({ id: n + 1, quantity: 1 }));
const placed = (given: Partial<OrderRequest> = {}, policy = external) => place(request(given), facts(), customer, policy);

const rules: Readonly<Record<Transition, (order: OrderState) => StatusChange>> = {
  approve: (order) => approve(order, staff, external),
  deliver: (order) => deliver(order, staff),
  cancel: (order) => cancel(order, staff),
  expire: (order) => expire(order, at),
  cancelPaid: (order) => cancelPaid(order, staff, 'it died'),
};
const allTransitions = Object.keys(rules) as Transition[];

const approvedOrder: ApprovedOrder = approve(placed().order, staff, external).order;
const deliveredOrder: DeliveredOrder = deliver(approvedOrder, staff).order;
const orders: readonly OrderState[] = [placed().order, approvedOrder, deliveredOrder, cancel(placed().order, staff).order];

function outcomeOf<T>(rule: () => T): T | string {
  try {
    return rule();
  } catch (error) {
    if (error instanceof CodedError) return error.code;
    throw error;
  }
}

describe('the lifecycle of an order', () => {
  it('is exactly the table of the specification, and what staff may cancel', () => {
    expect(orders.map(({ status }) => status).sort()).toEqual([...orderStatuses].sort());
    const allowed = orders.flatMap((order) =>
      allTransitions.flatMap((transition) => {
        const change = outcomeOf(() => rules[transition](order));
        return typeof change === 'string' ? [] : [`${order.status} -${transition}-> ${change.order.status}`];
      }),
    );
    const table = Object.entries(transitions).map(([transition, { from, to }]) => `${from} -${transition}-> ${to}`);
    expect(allowed.sort()).toEqual(table.sort());
    expect(table).toEqual([
      'approved -cancelPaid-> cancelled',
      'approved -deliver-> delivered',
      'placed -approve-> approved',
      'placed -cancel-> cancelled',
      'placed -expire-> cancelled',
    ]);
  });

  it('raises the version with each step, and emits an event for each change of status', () => {
    for (const order of orders) {
      for (const transition of allTransitions) {
        const change = outcomeOf(() => rules[transition](order));
        if (typeof change === 'string') continue;
        expect(change.order.version).toBe(order.version + 1);
        expect(change.event).toEqual({
          event: 'order.status_changed',
          timestamp: at.toISOString(),
          data: { orderId: 1, plantId: 7, previousStatus: order.status, newStatus: change.order.status, trackingNumber: change.order.trackingNumber },
        });
      }
    }
  });

  it('neither loses nor creates units, whichever path an order takes', () => {
    const ways: readonly (readonly Transition[])[] = [['approve', 'deliver'], ['approve', 'cancelPaid'], ['cancel'], ['expire']];
    fc.assert(
      fc.property(fc.constantFrom(...ways), fc.integer({ min: 1, max: 1_000_000 }), (way, quantity) => {
        const first = place(request({ quantity }), facts({ stock: { listing: 'available', free: quantity } }), customer, external);
        let order: OrderState = first.order;
        let after = addUnits(noUnits, first.units);
        for (const transition of way) {
          const change = rules[transition](order);
          order = change.order;
          after = addUnits(after, change.units);
        }
        expect(after.free + after.reserved + after.sold).toBe(0);
        expect(after.reserved).toBe(0);
        expect(after.sold).toBe(way.includes('deliver') ? quantity : 0);
      }),
    );
  });

  it('counts free units under the listing of their plant, reserved ones as pending, sold ones as sold', () => {
    const units = { free: 100, reserved: 20, sold: 3 };
    const inventory = (listing: PlantListing) => Object.values(inventoryOf(listing, units));
    expect(inventory('available')).toEqual([100, 20, 3]);
    expect(inventory('pending')).toEqual([0, 120, 3]);
    expect(inventory('sold')).toEqual([0, 20, 103]);
    expect(inventory('retired')).toEqual([0, 20, 3]);
  });
});

describe('placing', () => {
  it.each<[string, Partial<OrderRequest>, Partial<PlacingFacts>]>([
    ['plant-not-found', {}, { stock: { listing: 'retired', free: 0 }, isCustomerClosed: true }],
    ['customer-closed', {}, { isCustomerClosed: true, isIdTaken: true }],
    ['order-exists', {}, { isIdTaken: true, stock: { listing: 'pending', free: 10 } }],
    ['plant-not-available', { quantity: 11 }, { stock: { listing: 'pending', free: 10 } }],
    ['insufficient-stock', { quantity: 11 }, { unpaid: unpaid(21) }],
    ['unpaid-limit', {}, { unpaid: unpaid(21) }],
  ])('is refused as %s, even if later checks fail too', (code, given, found) => {
    expect(outcomeOf(() => place(request(given), facts(found), customer, external))).toBe(code);
  });

  it.each<[string, number, readonly number[]]>([
    ['one order of any size', 1_000, []],
    ['20 orders beyond the first', 1, Array<number>(20).fill(1)],
    ['200 units beyond the first', 100, [1_000, 100]],
  ])('lets a customer have %s unpaid, and no more', (_, quantity, existing) => {
    const stock = { listing: 'available' as const, free: 10_000 };
    const orders = existing.map((one, n) => ({ id: n + 1, quantity: one }));
    const placedOrder = place(request({ id: 99, quantity }), facts({ stock, unpaid: orders }), customer, external).order;
    const next = facts({ stock, unpaid: [...orders, placedOrder] });
    expect(() => place(request({ quantity: 201 }), next, customer, external)).toThrow(
      expect.objectContaining({ code: 'unpaid-limit', details: { orders: [...orders.map(({ id }) => id), 99] } }),
    );
    if (existing.length > 0) expect(outcomeOf(() => place(request({ quantity: 1 }), next, customer, external))).toBe('unpaid-limit');
  });

  it.each([
    [10, false, 10],
    [11, false, undefined],
    [11, true, 11],
  ])('refused with %i free units, seesStock %p, tells %p', (free, seesStock, available) => {
    const given = facts({ stock: { listing: 'available', free }, seesStock });
    expect(() => place(request({ quantity: free + 1 }), given, customer, external)).toThrow(
      expect.objectContaining({
        code: 'insufficient-stock',
        details: available === undefined ? {} : { available },
        message: expect.stringMatching(available === undefined ? /^\D*7 has fewer free units/ : ` ${available} free units`),
      }),
    );
  });

  it('sets when the order expires, or when the simulated provider approves it', () => {
    expect(placed().order).toMatchObject({ dueTransition: 'expire', dueAt: new Date('2026-11-22T10:01:00.000Z') });
    expect(placed().event).toMatchObject({ event: 'order.placed', data: { reservedUntil: '2026-11-22T10:01:00.000Z' } });
    expect(placed({}, simulated).order).toMatchObject({ dueTransition: 'approve', dueAt: new Date('2026-11-22T10:00:00.001Z') });
    expect(placed({}, simulated).event.data).not.toHaveProperty('reservedUntil');
  });

  it('decides a sequence of orders as the sequential model does (slow)', () => {
    const anyRequest = fc.record({
      id: fc.integer({ min: 1, max: 12 }),
      plantId: fc.integer({ min: 1, max: 5 }),
      quantity: fc.integer({ min: 1, max: 12 }),
      shipDate: fc.constant(null),
      ownerId: fc.constantFrom(alice, bob),
    });
    const anyStock = fc.dictionary(
      fc.constantFrom('1', '2', '3', '4'),
      fc.record({
        listing: fc.constantFrom<PlantListing>('available', 'available', 'available', 'pending', 'sold', 'retired'),
        free: fc.integer({ min: 0, max: 20 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(anyRequest, { maxLength: 40 }), anyStock, (requests, given) => {
        const stock = new Map(Object.entries(given).map(([plantId, row]) => [Number(plantId), { ...row, reserved: 0, sold: 0 }]));
        const model = new SequentialModel(new Map([...stock].map(([plantId, row]) => [plantId, { ...row }])), new Set([bob]));
        const taken = new Set<number>();
        for (const one of requests) {
          const row = stock.get(one.plantId) ?? { ...noUnits, listing: 'retired' as const };
          const found = { stock: row, isCustomerClosed: one.ownerId === bob, isIdTaken: taken.has(one.id), unpaid: undefined, seesStock: false };
          const step = outcomeOf(() => place({ ...one, ...noOwnerData }, found, { ...customer, actor: one.ownerId }, external));
          if (typeof step !== 'string') {
            stock.set(one.plantId, { ...row, ...addUnits(row, step.units) });
            taken.add(one.id);
          }
          expect(typeof step === 'string' ? step : 'placed').toBe(model.place({ ...one, orderId: one.id }));
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a due transition', () => {
  it('is applied by the store, as the timeline shows', () => {
    expect(applyDueTransition(placed().order, 'expire', at, external)).toMatchObject({ actor: 'store', reason: 'expired without payment', due: undefined });
    expect(applyDueTransition(placed().order, 'approve', at, simulated)).toMatchObject({
      actor: 'store',
      reason: 'payment succeeded (simulated)',
      due: { transition: 'deliver', inMs: 2 },
    });
    expect(applyDueTransition(approvedOrder, 'deliver', at, simulated)).toMatchObject({ actor: 'store', reason: 'delivered (simulated)' });
  });

  it.each([
    ['an hour later', 3_600_000, 3_600_000],
    ['in the past', -3_600_000, 2],
  ])('is the simulated delivery, not before a ship date %s', (_, fromNowMs, inMs) => {
    const shipDate = new Date(at.getTime() + fromNowMs);
    expect(applyDueTransition({ ...placed().order, shipDate }, 'approve', at, simulated)).toMatchObject({ due: { transition: 'deliver', inMs } });
  });

  it('is not applied to an order whose status has changed', () => {
    expect(applyDueTransition(approvedOrder, 'expire', at, external)).toBeUndefined();
    expect(applyDueTransition(deliveredOrder, 'deliver', at, external)).toBeUndefined();
  });

  it('is not a delivery if the payment provider is external', () => {
    expect(approve(placed().order, staff, external).due).toBeUndefined();
  });
});

describe('steps that change no status', () => {
  const outcomes = (rule: (order: OrderState) => { order: OrderState }) =>
    orders.map((order) => {
      const step = outcomeOf(() => rule(order));
      return `${order.status}: ${typeof step === 'string' ? step : step.order.status}`;
    });

  it('ship approved orders only, with the carrier’s tracking number', () => {
    const shipment = { carrier: 'DHL', trackingNumber: 'JJD 1' };
    expect(outcomes((order) => ship(order, shipment, staff))).toEqual([
      'placed: order-transition-refused',
      'approved: approved',
      'delivered: order-transition-refused',
      'cancelled: order-transition-refused',
    ]);
    expect(ship(approvedOrder, shipment, staff)).toMatchObject({ order: { ...shipment, version: 3 }, shipment, event: { event: 'order.shipped', data: shipment } });
  });

  it('transfer open orders only, and not to closed accounts', () => {
    const to = { ownerId: bob, isCustomerClosed: false, orderWithExternalId: undefined, isSeen: false };
    expect(outcomes((order) => transfer(order, to, staff))).toEqual([
      'placed: placed',
      'approved: approved',
      'delivered: order-transition-refused',
      'cancelled: order-transition-refused',
    ]);
    expect(transfer(placed().order, to, staff)).toEqual({ order: { ...placed().order, ownerId: bob, version: 2, updatedAt: at }, actor: 'staff', reason: 'transferred' });
    expect(outcomeOf(() => transfer(placed().order, { ...to, isCustomerClosed: true }, staff))).toBe('customer-closed');
    const numbered = placed({ externalId: 'web-1' }).order;
    for (const [isSeen, details] of [[true, { orderId: 5 }], [false, {}]] as const) {
      expect(() => transfer(numbered, { ...to, isSeen, orderWithExternalId: 5 }, staff)).toThrow(expect.objectContaining({ code: 'external-id-exists', details }));
    }
  });

  it('mark an order of any status as due for a refund', () => {
    for (const order of orders) expect(markRefundDue(order, staff).order).toEqual({ ...order, version: order.version + 1, updatedAt: at, refund: 'due' });
  });

  it('complete a refund of an order of any status, and the order’s once no other refund is due', () => {
    for (const order of orders) {
      const due = markRefundDue(order, staff).order;
      const refundOf = (otherRefundsDue: number) => completeRefund(due, { refundId: 5, otherRefundsDue, ...staff });
      expect(refundOf(1).order).toEqual({ ...due, version: due.version + 1, refund: 'due' });
      expect(refundOf(0)).toEqual({ order: { ...due, version: due.version + 1, refund: 'completed' }, actor: 'staff', reason: 'refunded', refundId: 5 });
    }
  });
});
