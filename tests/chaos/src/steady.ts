import type { Arena } from './arena.js';
import { now, pause } from './clock.js';
import type { Call } from './history.js';

/** Requests at a fixed rate, whatever becomes of those before, until the work is over; each can only succeed. @returns their calls */
export async function steady(arena: Arena, perSecond: number, work: Promise<unknown>): Promise<readonly Call[]> {
  const plantId = await arena.plant(1_000_000);
  const { client } = await arena.customer('steady');
  const first = (await arena.surely(() => client.place({ plantId, quantity: 1 }))).id ?? 0;
  const kinds = [
    () => client.place({ plantId, quantity: 1 }),
    () => client.read(first),
    () => client.lookAt(plantId),
    () => client.inventory(),
  ];
  let isOver = false;
  void work.finally(() => (isOver = true));
  const calls: Promise<Call>[] = [];
  for (let n = 0, begin = now(); !isOver; n++) {
    await pause(begin + (n * 1_000) / perSecond - now());
    const ask = kinds[n % kinds.length]!;
    calls.push(ask().then(({ call }) => call));
  }
  await work;
  return Promise.all(calls);
}
