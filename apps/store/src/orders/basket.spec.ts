import { describe, expect, it } from '@jest/globals';
import { orderStatuses } from '@plant-shop/contracts/store';
import { CodedError } from '@plant-shop/platform/errors';
import fc from 'fast-check';
import type { CheckoutPolicy } from '../config.js';
import type { PlantListing } from '../stock/stock.js';
import { type BasketFacts, cancelBasket, placeBasket, statusOf } from './basket.js';
import { approve, cancel, deliver, expire, type OrderState } from './order.js';
import type { OrderRequest } from './placing.js';
import { SequentialModel } from './sequential-model.spec.fixture.js';

const alice = '00000000-0000-4000-8000-00000000000a';
const at = new Date('2026-11-22T10:00:00.000Z');
const staff = { actor: 'staff', at };
const customer = { actor: alice, at, now: at };
const policy: CheckoutPolicy = { provider: 'external', orderTtlMs: 60_000, approvalDelayMs: 1, deliveryDelayMs: 2, unpaid: { orders: 3, units: 10 }, shownUpTo: 10 };

type Stock = Readonly<Record<number, { listing: PlantListing; free: number }>>;
const facts = (stock: Stock, given: Partial<BasketFacts> = {}): BasketFacts => ({
  stockOf: (plantId) => stock[plantId] ?? { listing: 'retired', free: 0 },
  isCustomerClosed: false,
  sameExternalId: undefined,
  unpaid: undefined,
  seesStock: false,
  ...given,
});
type Line = [plantId: number, quantity: number];
const lineOf = ([plantId, quantity]: Line, n: number): OrderRequest => ({ id: 11 + n, plantId, quantity, shipDate: null, externalId: null, metadata: null, shipTo: null });
function linesOf(...lines: Line[]): [OrderRequest, ...OrderRequest[]] {
  const [first, ...others] = lines.map(lineOf);
  if (!first) throw new Error('a basket has lines');
  return [first, ...others];
}
const place = (lines: [OrderRequest, ...OrderRequest[]], known: BasketFacts) => {
  try {
    return placeBasket(lines, known, customer, policy);
  } catch (error) {
    if (error instanceof CodedError) return { code: error.code, ...error.details };
    throw error;
  }
};

const available = (free: number) => ({ listing: 'available' as const, free });

describe('a basket', () => {
  it('is an order for each line, under the id of its first', () => {
    const steps = placeBasket(linesOf([7, 2], [8, 1], [7, 1]), facts({ 7: available(3), 8: available(1) }), customer, policy);
    expect(steps.map(({ order }) => [order.id, order.basketId, order.plantId, order.quantity])).toEqual([[11, 11, 7, 2], [12, 11, 8, 1], [13, 11, 7, 1]]);
    expect(steps.map(({ event }) => event.data.orderId)).toEqual([11, 12, 13]);
  });

  it.each<[string, [number, number][], Stock, object]>([
    ['unknown plants', [[7, 1], [1, 1], [2, 9]], { 7: available(1) }, { code: 'plant-not-found', lines: [{ pointer: '/lines/1', plantId: 1 }, { pointer: '/lines/2', plantId: 2 }] }],
    ['plants that are not for sale', [[7, 1], [8, 9]], { 7: available(0), 8: { listing: 'pending', free: 9 } }, { code: 'plant-not-available', lines: [{ pointer: '/lines/1', plantId: 8 }] }],
    [
      'all lines that lack units, and how many there are if they are few',
      [[7, 11], [8, 1], [9, 60]],
      { 7: available(10), 8: available(1), 9: available(59) },
      { code: 'insufficient-stock', lines: [{ pointer: '/lines/0', plantId: 7, available: 10 }, { pointer: '/lines/2', plantId: 9 }] },
    ],
    [
      'both lines of a plant that together lack units',
      [[7, 2], [8, 1], [7, 2]],
      { 7: available(3), 8: available(1) },
      { code: 'insufficient-stock', lines: [{ pointer: '/lines/0', plantId: 7, available: 3 }, { pointer: '/lines/2', plantId: 7, available: 3 }] },
    ],
  ])('is refused with %s', (_, lines, stock, problem) => {
    expect(place(linesOf(...lines), facts(stock))).toEqual(problem);
  });

  it('is refused for closed accounts and with an external id that the customer used', () => {
    const stock = { 7: available(1) };
    expect(place(linesOf([7, 1]), facts(stock, { isCustomerClosed: true, sameExternalId: 4 }))).toEqual({ code: 'customer-closed' });
    expect(place(linesOf([7, 9]), facts(stock, { sameExternalId: 4 }))).toEqual({ code: 'external-id-exists', basketId: 4 });
  });

  it('shows staff how many units are left', () => {
    expect(place(linesOf([9, 60]), facts({ 9: available(59) }, { seesStock: true }))).toMatchObject({ lines: [{ available: 59 }] });
  });

  it.each<[string, [number, number][], number, boolean]>([
    ['as many orders and units as may be unpaid beyond the first', [[7, 90], [7, 4], [7, 4], [7, 2]], 0, true],
    ['one order more', [[7, 1], [7, 1], [7, 1], [7, 1], [7, 1]], 0, false],
    ['one unit more', [[7, 90], [7, 4], [7, 7]], 0, false],
    ['what earlier orders leave', [[7, 4], [7, 4]], 2, true],
    ['more than earlier orders leave', [[7, 4], [7, 4]], 3, false],
  ])('counts each order as unpaid: %s', (_, lines, earlier, isPlaced) => {
    const unpaid = Array.from({ length: earlier }, (__, n) => ({ id: n + 1, quantity: 1 }));
    const result = place(linesOf(...lines), facts({ 7: available(1_000) }, { unpaid }));
    expect(Array.isArray(result)).toBe(isPlaced);
    if (!isPlaced) expect(result).toEqual({ code: 'unpaid-limit', orders: unpaid.map(({ id }) => id) });
  });

  it('is decided as the sequential model decides, and names a line for each refusal (slow)', () => {
    const anyLine = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 12 }));
    const anyStock = fc.dictionary(
      fc.constantFrom('1', '2', '3', '4'),
      fc.record({
        listing: fc.constantFrom<PlantListing>('available', 'available', 'available', 'available', 'available', 'pending', 'retired'),
        free: fc.integer({ min: 0, max: 30 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(anyLine, { minLength: 1, maxLength: 6 }), anyStock, (given, stock) => {
        const lines = linesOf(...given);
        const model = new SequentialModel(new Map(Object.entries(stock).map(([plantId, row]) => [Number(plantId), { ...row, reserved: 0 }])));
        const result = place(lines, facts(stock));
        const outcome = 'code' in result ? result.code : 'placed';
        expect(outcome).toBe(model.placeBasket({ firstId: 11, lines, ownerId: alice }));
        if ('code' in result) expect(result).toMatchObject({ lines: expect.arrayContaining([expect.objectContaining({ pointer: expect.any(String) })]) });
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the orders of a basket', () => {
  const [{ order: placed }] = placeBasket(linesOf([7, 1]), facts({ 7: available(9) }), customer, policy);
  const approved = approve(placed, staff, policy).order;
  const ofStatus: Readonly<Record<string, OrderState>> = { placed, approved, delivered: deliver(approved, staff).order, cancelled: expire(placed, at).order };
  const orders = (...statuses: string[]): OrderState[] => statuses.map((status, n) => ({ ...ofStatus[status]!, id: n + 1 }));

  it.each([
    [['placed', 'approved', 'delivered', 'cancelled'], 'placed'],
    [['delivered', 'approved', 'cancelled'], 'approved'],
    [['cancelled', 'delivered'], 'delivered'],
    [['cancelled', 'cancelled'], 'cancelled'],
  ])('%j give it the status %s', (statuses, status) => {
    expect(statusOf(orders(...statuses))).toBe(status);
    for (const one of orderStatuses) expect(statusOf(orders(one))).toBe(one);
  });

  it('are cancelled together, except those that are cancelled already', () => {
    const [first, , third] = orders('placed', 'cancelled', 'placed');
    expect(cancelBasket(orders('placed', 'cancelled', 'placed'), staff)).toEqual([cancel(first!, staff), cancel(third!, staff)]);
    expect(cancelBasket(orders('cancelled'), staff)).toEqual([]);
  });

  it('are not cancelled if one of them cannot be', () => {
    expect(() => cancelBasket(orders('placed', 'approved', 'cancelled', 'delivered'), staff)).toThrow(
      expect.objectContaining({ code: 'order-not-cancellable', details: { orders: [2, 4] } }),
    );
  });
});
