import type { History } from '../history.js';
import type { Violation } from './violation.js';

/**
 * In every snapshot: each supplied unit is free, reserved or sold; reserved units equal those of placed orders, sold units those
 * of approved and delivered ones; the inventory is their sum; and no deleted account or plant has an open order.
 */
export function checkStock({ snapshots, supplied }: History): Violation[] {
  return snapshots.flatMap(({ at, plants, inventoryDrift, orphans }) => {
    const violations: Violation[] = [];
    const when = `at ${(at / 1_000).toFixed(2)} s`;
    const found = (what: string): unknown => violations.push({ rule: 'stock', what: `${when} ${what}` });
    for (const { plantId, free, reserved, sold, placed, taken } of plants) {
      const initial = supplied.get(plantId);
      if (free < 0) found(`plant ${plantId} has ${free} free units`);
      if (initial !== undefined && free + reserved + sold !== initial) found(`plant ${plantId} has ${free} + ${reserved} + ${sold} of ${initial} units`);
      if (reserved !== placed) found(`plant ${plantId} has ${reserved} reserved units, but placed orders hold ${placed}`);
      if (sold !== taken) found(`plant ${plantId} has ${sold} sold units, but approved and delivered orders have ${taken}`);
    }
    if (Object.values(inventoryDrift).some((units) => units !== 0)) found(`the inventory differs from the stock: ${JSON.stringify(inventoryDrift)}`);
    for (const order of orphans) violations.push({ rule: 'owners', what: `${when} order ${order} is open, but its customer is closed or its plant retired` });
    return violations;
  });
}

/** No call changes the number of units, so every read of the inventory returns the same sum. */
export function checkInventory({ calls }: History): Violation[] {
  const sums = calls.flatMap(({ request, answer, from }) =>
    request.kind === 'inventory' && answer !== 'lost' && answer.units !== undefined ? [{ from, units: answer.units }] : []);
  const first = sums[0]?.units;
  if (first === undefined) return [];
  return sums.flatMap(({ from, units }): Violation[] =>
    units === first ? [] : [{ rule: 'stock', what: `the inventory of ${(from / 1_000).toFixed(2)} s adds up to ${units}, not to ${first}` }]);
}
