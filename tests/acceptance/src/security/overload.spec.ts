import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { run } from '../internals.js';
import { NoAnswer, RawHttp, type RawRequest } from '../raw-http.js';
import { createPlant, fresh, gatewayUrl, ok, placeOrder, send, staff, until } from '../shop.js';

/** Each sends its next request when the last is answered. Every eighth registers users; a core hashes forty passwords a second. */
const clients = 400;
const durationMs = 2_000;
const maxGrowthMb = 250;
/** The budget of a request is 10 s; the rest is a tolerance, since the clients share the machine with the shop. */
const deadlineMs = 15_000;

describe('ten times the load that the shop can serve', () => {
  const http = new RawHttp(gatewayUrl());
  afterAll(() => http.close());

  it('is answered only with success, 429 or 503; memory stays bounded, and the shop recovers at once', async () => {
    const { id: plantId } = await createPlant({ quantity: 100_000 });
    const before = memoryOf();
    const statuses = new Map<number | string, number>();
    const end = performance.now() + durationMs;
    const client = async (number: number): Promise<void> => {
      while (performance.now() < end) {
        const request = number % 8 === 0 ? registration() : order(plantId);
        const status = await http.send(request, deadlineMs).then(
          (answer) => answer.status,
          (error: unknown) => (error instanceof NoAnswer ? error.reason : Promise.reject(error as Error)),
        );
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
    expect({ unexpected: [...statuses.keys()].filter((status) => ![200, 429, 503].includes(status as number)), statuses: [...statuses] }).toMatchObject({ unexpected: [] });
    expect(statuses.get(200)).toBeGreaterThan(0);
    const grown = Object.entries(memoryOf()).filter(([service, mb]) => mb - (before[service] ?? 0) > maxGrowthMb);
    expect(grown).toEqual([]);
    await until(async () => (await send('POST', '/v3/user', { json: { username: fresh('after'), password: 'a long enough password' } })).status === 200, 5_000);
    await placeOrder({ plantId });
    await ok(send('GET', '/v3/store/inventory', { as: staff }));
    process.stdout.write(`overload: ${JSON.stringify(Object.fromEntries(statuses))}\n`);
  }, 60_000);
});

const post = (target: string, value: unknown, ...headers: RawRequest['headers']): RawRequest => ({
  method: 'POST',
  target,
  headers: [['content-type', 'application/json'], ...headers],
  body: Buffer.from(JSON.stringify(value)),
});
const registration = (): RawRequest => post('/v3/user', { username: fresh('crowd'), password: 'a long enough password' });
const order = (plantId: number): RawRequest => post('/v3/store/order', { plantId }, ['api_key', 'special-key']);

/** Resident memory of each service, in MB. */
function memoryOf(): Record<string, number> {
  const processes = Object.entries(run().services).flatMap(([service, instances]) => instances.map(({ pid }) => ({ service, pid })));
  return Object.fromEntries(
    processes.map(({ service, pid }) => [`${service} ${pid}`, Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024]),
  );
}
