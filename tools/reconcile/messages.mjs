/** @typedef {import('./reconcile.mjs').Finding} Finding */

/** The rows of the table. @type {Record<Finding['drift'], string>} */
const titles = {
  'numbers-behind': 'reused numbers',
  'stock-missing': 'plants without stock',
  'listing-differs': 'plants with another status',
  'plant-deleted': 'deleted plants that exist again',
  'plant-missing': 'stock without a plant',
  'user-deleted': 'deleted users that exist again',
  'user-missing': 'customers without a user',
  'order-set-aside': 'orders set aside',
};

/** Returns whether the finding needs an operator. @param {Finding} finding */
export const isLeft = ({ drift, outcome }) => outcome !== 'mended' || drift === 'stock-missing';

/** Describes a finding, its repair, and what is left to do. @param {Finding} finding @returns {string} */
export function sentence(finding) {
  const { outcome } = finding;
  if (finding.drift === 'numbers-behind') {
    const { service, sequence, from, to } = finding;
    const verb = outcome === 'mended' ? 'continues' : 'would continue';
    return `${sequence} of the ${service} was at ${from}, behind the store; it ${verb} at ${to}.`;
  }
  if (finding.drift === 'order-set-aside') return ofOrder(finding);
  const what = facts(finding);
  if (outcome === 'found') return `${what.found} ${what.would}`;
  if (outcome === 'unfinished') return `${what.found} It is not repaired yet: a service was unavailable or busy. Run this again.`;
  if (outcome === 'left') return `${what.found} Orders are open: ${orders(finding.openOrders ?? [])}. ${what.todo}`;
  return `${what.found} ${what.did}`;
}

/**
 * @param {Exclude<Finding, { drift: 'numbers-behind' | 'order-set-aside' }>} finding
 * @returns {{ found: string, did: string, would: string, todo: string }}
 */
function facts(finding) {
  const cancel = 'cancel them (DELETE /v3/store/order/{orderId})';
  if ('userId' in finding) {
    const { userId, username, drift } = finding;
    if (drift === 'user-deleted') {
      return {
        found: `User ${username} (${userId}) had been deleted and existed again.`,
        did: 'Deleted again.',
        would: 'Would be deleted again.',
        todo: `Transfer them (POST /v3/store/order/{orderId}/transfer) or ${cancel}, and run this again.`,
      };
    }
    return {
      found: `User ${userId} does not exist, but the store accepted orders for them.`,
      did: 'It accepts no more.',
      would: 'It would accept no more, unless orders are open.',
      todo: `Transfer them (POST /v3/store/order/{orderId}/transfer) or ${cancel}, and run this again.`,
    };
  }
  const { plantId, drift } = finding;
  switch (drift) {
    case 'stock-missing':
      return {
        found: `The store did not know plant ${plantId}.`,
        did: `It has 0 units now: count the units and set them (PUT /v3/store/inventory/${plantId}).`,
        would: 'It would be opened with 0 units, for you to count and set.',
        todo: `When they are closed, count the units and set them (PUT /v3/store/inventory/${plantId}).`,
      };
    case 'listing-differs':
      return {
        found: `The store listed plant ${plantId} with another status than the catalog.`,
        did: 'The listing was updated.',
        would: 'The listing would be updated.',
        todo: 'Run this again.',
      };
    case 'plant-deleted':
      return {
        found: `Plant ${plantId} had been deleted and existed again.`,
        did: 'Deleted again.',
        would: 'Would be deleted again.',
        todo: `Wait for their delivery or ${cancel}, and run this again.`,
      };
    default:
      return {
        found: `The catalog lacks plant ${plantId}, but the store has stock of it.`,
        did: 'The stock is retired.',
        would: 'The stock would be retired, unless orders are open.',
        todo: `Create the plant again with this id (POST /v3/plant), which takes over the orders; or ${cancel}, and run this again.`,
      };
  }
}

const moves = { expire: 'expire', approve: 'be approved', deliver: 'be delivered' };

/** @param {import('./reconcile.mjs').OrderFinding} finding */
function ofOrder({ orderId, move, outcome, sqlState, constraint }) {
  const error = constraint ? `it breaks the constraint ${constraint} (SQLSTATE ${sqlState})` : `SQLSTATE ${sqlState}`;
  const due = `Order ${orderId} was due to ${moves[move]}, and Postgres rejected it: ${error}.`;
  if (outcome === 'mended') return `${due} It succeeded now.`;
  if (outcome === 'found') return `${due} It would be retried.`;
  return `${due} Correct the rows of the order and of its plant's stock in the store's database, and run this again.`;
}

/** @param {readonly number[]} ids */
const orders = (ids) => (ids.length < 100 ? ids.join(', ') : `${ids.join(', ')} and possibly more`);

/**
 * Formats the totals.
 * @param {{ plants: number, customers: number, ordersSetAside: number }} checked
 * @param {ReadonlyMap<Finding['drift'], { mended: number, left: number }>} counts
 */
export function table(checked, counts) {
  const drifts = /** @type {Finding['drift'][]} */ (Object.keys(titles));
  const rows = [
    ['', 'repaired', 'to do'],
    ...drifts.map((drift) => [titles[drift], ...['mended', 'left'].map((of) => `${counts.get(drift)?.[/** @type {'mended' | 'left'} */ (of)] ?? 0}`)]),
  ];
  const lines = rows.map(([name = '', ...cells]) => `  ${name.padEnd(32)}${cells.map((cell) => cell.padStart(12)).join('')}`);
  const counted = `${checked.plants} plants, ${checked.customers} customers, ${checked.ordersSetAside} orders set aside`;
  return [`Checked: ${counted}.`, ...lines].join('\n');
}
