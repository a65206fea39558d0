import type { Trial } from './trial.js';
import { now, pause } from './clock.js';
import type { Call } from './history.js';

/**
 * Prepares a customer that sends valid requests at a constant rate, without waiting for earlier answers. It is registered and logged
 * in before other load begins.
 * @returns a function that sends requests until `work` is over and returns the calls
 */
export async function constantRateLoad(trial: Trial, perSecond: number): Promise<(work: Promise<unknown>) => Promise<readonly Call[]>> {
  const plantId = await trial.plant(1_000_000);
  const { client } = await trial.customer('steady');
  const first = (await trial.untilDone((key) => client.place({ plantId, quantity: 1 }, key))).id ?? 0;
  const kinds = [
    () => client.place({ plantId, quantity: 1 }),
    () => client.read(first),
    () => client.readPlant(plantId),
    () => client.inventory(),
  ];
  return async (work) => {
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
  };
}
