import { describe, expect, it } from '@jest/globals';
import { orderStatuses } from '@plant-shop/contracts/store';
import fc from 'fast-check';
import { addUnits, inventoryOf, type Listing, noUnits, unitsMoved } from '../stock/stock.js';
import { canMove, type Move, transitions } from './order.js';

const moves = Object.keys(transitions) as Move[];

describe('the lifecycle of an order', () => {
  it('is the table of the specification and nothing more', () => {
    const allowed = orderStatuses.flatMap((status) =>
      moves.filter((move) => canMove({ status }, move)).map((move) => `${status} -${move}-> ${transitions[move].to}`),
    );
    expect(allowed.sort()).toEqual([
      'approved -deliver-> delivered',
      'placed -approve-> approved',
      'placed -cancel-> cancelled',
      'placed -expire-> cancelled',
    ]);
  });

  it('neither loses nor invents a unit, whatever way an order goes', () => {
    const ways: (Move | 'place')[][] = [['place', 'approve', 'deliver'], ['place', 'cancel'], ['place', 'expire']];
    fc.assert(
      fc.property(fc.constantFrom(...ways), fc.integer({ min: 1, max: 1_000_000 }), (way, quantity) => {
        const after = way.map((move) => unitsMoved(move, quantity)).reduce(addUnits, noUnits);
        expect(after.free + after.reserved + after.sold).toBe(0);
        expect(after.reserved).toBe(0);
        expect(after.sold).toBe(way.includes('approve') ? quantity : 0);
      }),
    );
  });

  it('counts free units under the listing of their plant, reserved ones as pending, sold ones as sold', () => {
    const units = { free: 100, reserved: 20, sold: 3 };
    const inventory = (listing: Listing) => Object.values(inventoryOf(listing, units));
    expect(inventory('available')).toEqual([100, 20, 3]);
    expect(inventory('pending')).toEqual([0, 120, 3]);
    expect(inventory('sold')).toEqual([0, 20, 103]);
    expect(inventory('retired')).toEqual([0, 20, 3]);
  });
});
