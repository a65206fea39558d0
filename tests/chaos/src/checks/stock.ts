import type { History } from '../history.js';
import type { Violation } from './violation.js';

/**
 * At any instant: every unit that was put in is free, reserved or sold; what is reserved is what placed orders hold, what is
 * sold is what approved and delivered ones took; the inventory is the sum of it; and an account or a plant that is gone has
 * no open order.
 */
export function checkStock({ snapshots, supplied }: History): Violation[] {
  return snapshots.flatMap(({ at, plants, inventoryDrift, orphans }) => {
    const violations: Violation[] = [];
    const when = `at ${(at / 1_000).toFixed(2)} s`;
    const found = (what: string): unknown => violations.push({ rule: 'stock', what: `${when} ${what}` });
    for (const { plantId, free, reserved, sold, placed, taken } of plants) {
      const put = supplied.get(plantId);
      if (free < 0) found(`plant ${plantId} has ${free} free units`);
      if (put !== undefined && free + reserved + sold !== put) found(`plant ${plantId} has ${free} + ${reserved} + ${sold} of ${put} units`);
      if (reserved !== placed) found(`plant ${plantId} has ${reserved} units reserved for ${placed} placed`);
      if (sold !== taken) found(`plant ${plantId} has ${sold} units sold for ${taken} taken`);
    }
    if (Object.values(inventoryDrift).some((units) => units !== 0)) found(`the inventory differs from the stock: ${JSON.stringify(inventoryDrift)}`);
    for (const order of orphans) violations.push({ rule: 'owners', what: `${when} order ${order} is open, and its customer is closed or its plant retired` });
    return violations;
  });
}

/** Nobody puts in or takes out: whoever asks for the inventory gets the same sum. */
export function checkInventory({ calls }: History): Violation[] {
  const sums = calls.flatMap(({ ask, answer, from }) =>
    ask.kind === 'inventory' && answer !== 'lost' && answer.units !== undefined ? [{ from, units: answer.units }] : []);
  const first = sums[0]?.units;
  if (first === undefined) return [];
  return sums.flatMap(({ from, units }): Violation[] =>
    units === first ? [] : [{ rule: 'stock', what: `the inventory of ${(from / 1_000).toFixed(2)} s adds up to ${units}, not to ${first}` }]);
}
