import { describe, expect, it } from '@jest/globals';
import { CodedError } from '@plant-shop/platform/errors';
import { IdempotencyKey } from '@plant-shop/platform/idempotency/idempotency-key';
import fc from 'fast-check';
import type { Listing } from '../stock/stock.js';
import { OneAtATimeModel } from './one-at-a-time.model.js';
import { decidePlacing, type Placing } from './placing.js';

const alice = '00000000-0000-4000-8000-00000000000a';
const leaving = '00000000-0000-4000-8000-00000000000b';

const placing = (given: Partial<Placing>): Placing => ({
  orderId: 1,
  plantId: 7,
  quantity: 1,
  shipDate: null,
  ownerId: alice,
  ...given,
});

const facts = (stock: Record<number, { listing: Listing; free: number }>) => ({
  closedCustomers: new Set([leaving]),
  takenIds: new Set<number>(),
  stock: new Map(Object.entries(stock).map(([plantId, row]) => [Number(plantId), row])),
});

const outcomes = (decisions: readonly (Placing | CodedError)[]): string[] =>
  decisions.map((one) => (one instanceof CodedError ? one.code : 'placed'));

describe('deciding a batch', () => {
  it('never lets an order too large block a smaller one after it', () => {
    const batch = [placing({ orderId: 1, quantity: 11 }), placing({ orderId: 2, quantity: 10 })];
    const decisions = decidePlacing(batch, facts({ 7: { listing: 'available', free: 10 } }));
    expect(outcomes(decisions)).toEqual(['insufficient-stock', 'placed']);
    expect(decisions[0]).toMatchObject({ details: { available: 10 } });
  });

  it('gives an id to the first of the batch that asks for it', () => {
    const batch = [placing({ orderId: 5 }), placing({ orderId: 5 }), placing({ orderId: 6 })];
    expect(outcomes(decidePlacing(batch, facts({ 7: { listing: 'available', free: 10 } })))).toEqual([
      'placed',
      'order-exists',
      'placed',
    ]);
  });

  it('leaves an id free whose first order was refused', () => {
    const batch = [placing({ orderId: 5, quantity: 99 }), placing({ orderId: 5, quantity: 1 })];
    expect(outcomes(decidePlacing(batch, facts({ 7: { listing: 'available', free: 10 } })))).toEqual([
      'insufficient-stock',
      'placed',
    ]);
  });

  it('places one request once, however often it stands in the batch, and refuses its key for another', () => {
    const keyed = (payload: string, given: Partial<Placing> = {}) =>
      placing({ ...given, idempotency: new IdempotencyKey(alice, 'key', 'placeOrder', Buffer.from(payload)) });
    const batch = [keyed('a', { orderId: 1, quantity: 99 }), keyed('a', { orderId: 2 }), keyed('a', { orderId: 3 }), keyed('b')];
    const decisions = decidePlacing(batch, facts({ 7: { listing: 'available', free: 10 } }));
    expect(decisions[0]).toMatchObject({ code: 'insufficient-stock' });
    expect(decisions[1]).toBe(batch[1]);
    expect(decisions[2]).toBe(batch[1]);
    expect(decisions[3]).toMatchObject({ code: 'idempotency-key-reused' });
  });

  it('decides every batch as a clerk with one customer at a time would', () => {
    const anyPlacing = fc.record({
      orderId: fc.integer({ min: 1, max: 12 }),
      plantId: fc.integer({ min: 1, max: 5 }),
      quantity: fc.integer({ min: 1, max: 12 }),
      shipDate: fc.constant(null),
      ownerId: fc.constantFrom(alice, leaving),
    });
    const anyStock = fc.dictionary(
      fc.constantFrom('1', '2', '3', '4'),
      fc.record({
        listing: fc.constantFrom<Listing>('available', 'available', 'available', 'pending', 'sold', 'retired'),
        free: fc.integer({ min: 0, max: 20 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(anyPlacing, { maxLength: 40 }), anyStock, (batch, stock) => {
        const given = facts(stock);
        const model = new OneAtATimeModel(
          new Map([...given.stock].map(([plantId, row]) => [plantId, { ...row, reserved: 0 }])),
          given.closedCustomers,
        );
        expect(outcomes(decidePlacing(batch, given))).toEqual(batch.map((one) => model.place(one)));
      }),
      { numRuns: 2_000 },
    );
  });
});
