import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { kill } from './internals.js';
import { createPlant, fresh, ok, type Order, problem, send, staff, until } from './shop.js';

/** Retries until the outcome is known, as a correct client does. */
async function placeWithRetries(plantId: number, key: string): Promise<{ id: number; tries: number }> {
  for (let tries = 1; ; tries++) {
    const answer = send<Order & { readonly code: string }>('POST', '/v3/store/order', { as: staff, json: { plantId }, headers: { 'idempotency-key': key } });
    const { status, body } = await answer;
    if (status === 200) return { id: body.id, tries };
    const { code } = await problem(answer, 503, body.code);
    expect(['unavailable', 'outcome-unknown']).toContain(code);
    await pause(100 + Math.random() * 200);
  }
}

// Not in every build: R4 of the chaos run kills the store, gateways and NATS under the same load, and judges every answer.

describe('2,000 requests for 200 orders while the store is killed repeatedly', () => {
  it('make 200 orders, and every caller learns the id', async () => {
    const orders = 200;
    const { id: plantId } = await createPlant({ quantity: 1_000 });
    const keys = Array.from({ length: orders }, () => fresh('key'));
    const requests = Promise.all(
      keys.flatMap((key) =>
        Array.from({ length: 10 }, async () => {
          await pause(Math.random() * 3_000);
          return { key, ...(await placeWithRetries(plantId, key)) };
        }),
      ),
    );
    for (let kills = 0; kills < 3; kills++) {
      await pause(700);
      kill('store');
    }
    const answers = await requests;
    const idsOf = new Map(keys.map((key) => [key, new Set(answers.filter((one) => one.key === key).map((one) => one.id))]));
    expect([...idsOf.values()].every((ids) => ids.size === 1)).toBe(true);
    expect(new Set(answers.map((one) => one.id)).size).toBe(orders);
    // Otherwise no request met a killed store.
    expect(answers.some((one) => one.tries > 1)).toBe(true);
    await until(async () => (await send('GET', '/readyz')).status === 200);
    expect(await ok(send('GET', `/v3/store/inventory/${plantId}`, { as: staff }))).toMatchObject({ free: 1_000 - orders });
  }, 60_000);
});
