import { run } from '../../../tools/start/command.mjs';
import { answers } from '../../../tools/start/readiness.mjs';
import { binary } from '../anchors/pgbench.mjs';
import { clientOf, inParallel } from '../client.mjs';
import { Stack } from '../stack.mjs';
import { refusal, send } from './http.mjs';

const shipTo = { name: 'Ada', lines: ['1 Fern Street'], city: 'Berlin', postalCode: '10115', country: 'DE' };
/** A storefront's, which orders for all customers: nobody has as many unpaid orders as one customer would get here. */
const headers = { api_key: 'special-key' };

/** @param {string} folder @param {import('./shops.mjs').Seed & import('./site.mjs').Need} options @returns {Promise<import('./shops.mjs').Shop>} */
export async function own(folder, { plants, scarce, units, signal, atEnd }) {
  let stack = await Stack.start(folder, { signal });
  atEnd(() => stack.end());
  const admin = clientOf(stack.gatewayUrl);
  const made = await inParallel(plants + scarce, 16, (n) => admin('POST', '/plant', { name: `Plant ${n}` }));
  const ids = made.map(({ id }) => `${id}`);
  await inParallel(scarce, 16, (n) => admin('PUT', `/store/inventory/${ids[plants + n]}`, { free: units }));

  const ask = async (/** @type {string} */ sql, database = 'postgres') => {
    const url = stack.run.postgres.adminUrl.replace(/\/postgres$/, `/${database}`);
    return (await run(binary('psql'), ['-X', '-q', '-t', '-A', '-d', url, '-c', sql], { what: 'psql', signal })).trim();
  };
  /** @returns {number[]} */
  const services = () => Object.values(stack.run.services).flat().map((/** @type {{ pid: number }} */ { pid }) => pid);
  return {
    title: 'plant shop',
    plants: ids.slice(0, plants),
    scarce: ids.slice(plants),
    async restart() {
      await stack.stop();
      stack = await Stack.start(folder, { signal });
      return stack.readyMs;
    },
    async crash() {
      for (const pid of services()) process.kill(pid, 'SIGKILL');
      await answers(`${stack.gatewayUrl}/readyz`, { limitMs: 60_000, signal });
    },
    stop: () => stack.stop(),
    pids: () => [...services(), stack.run.postgres.pid, stack.run.nats.pid],
    ask: (sql) => ask(sql),
    held: async (plant) => Number(await ask(`SELECT coalesce(sum(quantity), 0) FROM orders WHERE plant_id = ${plant} AND status <> 'cancelled'`, 'store')),
    customer: async () => async (plant) => {
      const answer = await send('POST', `${stack.gatewayUrl}/v3/store/order`, headers, { plantId: Number(plant), quantity: 1, shipTo });
      if (answer.status === 200 || answer.status === 201) return true;
      if (answer.body.code === 'insufficient-stock') return false;
      throw refusal('order', answer);
    },
  };
}
