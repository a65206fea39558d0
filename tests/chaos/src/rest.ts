import type { Ground } from './arena.js';
import { settleLimitMs } from './arena.js';
import type { Violation } from './checks/violation.js';
import { Client, staffKey } from './client.js';
import { now, until } from './clock.js';
import { Faults } from './faults.js';
import { isDone } from './history.js';
import { instancesOf } from './stack.js';

/** Each gateway serves so many orders one after the other, each so quickly: nothing of an outage or a rush is left. */
const ordersInARow = 5;
const quickMs = 500;

/**
 * Before a goal begins the shop is at rest, whatever the one before did to it: all processes are ready, nothing is on its way, and
 * orders are quick at each gateway. So a goal is judged the same, alone or after others.
 */
export async function rest({ stack, balancer, databases, say }: Ground): Promise<Violation[]> {
  const from = now();
  const isReady = await new Faults(stack, balancer, say).ready();
  let why: readonly string[] = isReady ? ['nothing could be asked'] : ['not every process is ready'];
  const gateways = instancesOf(stack, 'gateway').map(({ label, port }) => new Client(label, `http://127.0.0.1:${port ?? 0}`, () => undefined, staffKey));
  const isAtRest = await until(async () => {
    try {
      const { left } = await databases.underWay([]);
      why = left.length > 0 ? left : (await Promise.all(gateways.map(slowness))).flat();
    } catch (error) {
      why = [String(error)];
    }
    return why.length === 0;
  }, settleLimitMs, 250);
  const tookMs = now() - from;
  if (tookMs > 5_000) say(`  at rest after ${(tookMs / 1_000).toFixed(1)} s`);
  return isAtRest ? [] : why.map((what) => ({ rule: 'settled', what: `not at rest before it began: ${what}` }));
}

async function slowness(gateway: Client): Promise<string[]> {
  const { body: plant } = await gateway.other<{ id: number }>('POST', '/v3/plant', { name: 'at rest', quantity: ordersInARow });
  if (!plant) return [`${gateway.name} makes no plant`];
  for (let n = 0; n < ordersInARow; n++) {
    const { call } = await gateway.place({ plantId: plant.id, quantity: 1 });
    if (!isDone(call) || call.to - call.from > quickMs) return [`${gateway.name} takes ${(call.to - call.from).toFixed(0)} ms for an order`];
  }
  return [];
}
