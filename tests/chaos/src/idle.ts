import { becomesTrue } from '@plant-shop/testing/until';
import type { Testbed } from './trial.js';
import { settleLimitMs } from './trial.js';
import type { Violation } from './checks/violation.js';
import { Client, staffKey } from './client.js';
import { now } from './clock.js';
import { Faults } from './faults.js';
import { isDone } from './history.js';
import { instancesOf } from './stack.js';

/** An idle gateway serves this many orders in a row, each within `quickMs`: no outage or rush has an effect any more. */
const ordersInARow = 5;
const quickMs = 500;

/**
 * Waits until the shop has recovered from the previous goal: all processes are ready, no work is pending, and orders are quick at
 * each gateway. So a goal gets the same result alone as after others.
 * @returns a violation for each reason why the shop is not idle
 */
export async function waitUntilIdle({ stack, balancer, databases, say }: Testbed): Promise<Violation[]> {
  const from = now();
  const isReady = await new Faults(stack, databases, balancer, say).ready();
  let why: readonly string[] = isReady ? ['pending work could not be queried'] : ['not every process is ready'];
  const gateways = instancesOf(stack, 'gateway').map(({ label, port }) => new Client(label, `http://127.0.0.1:${port ?? 0}`, () => undefined, staffKey));
  const isIdle = await becomesTrue(async () => {
    try {
      const { left } = await databases.pendingWork([]);
      why = left.length > 0 ? left : (await Promise.all(gateways.map(slowOrders))).flat();
    } catch (error) {
      why = [String(error)];
    }
    return why.length === 0;
  }, settleLimitMs, 250);
  const tookMs = now() - from;
  if (tookMs > 5_000) say(`  at rest after ${(tookMs / 1_000).toFixed(1)} s`);
  return isIdle ? [] : why.map((what) => ({ rule: 'settled', what: `not at rest before it began: ${what}` }));
}

async function slowOrders(gateway: Client): Promise<string[]> {
  const { body: plant } = await gateway.other<{ id: number }>('POST', '/v3/plant', { name: 'at rest', quantity: ordersInARow });
  if (!plant) return [`${gateway.name} could not create a plant`];
  for (let n = 0; n < ordersInARow; n++) {
    const { call } = await gateway.place({ plantId: plant.id, quantity: 1 });
    if (!isDone(call) || call.to - call.from > quickMs) return [`${gateway.name} takes ${(call.to - call.from).toFixed(0)} ms for an order`];
  }
  return [];
}
