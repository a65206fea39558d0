// The worker thread of relays.mjs.
import { parentPort } from 'node:worker_threads';
import { startProxy } from '@plant-shop/testing/proxy';

/** @type {Map<number, import('@plant-shop/testing/proxy').TestProxy>} by port */
const relays = new Map();

parentPort?.on('message', async ({ call, command, argument }) => {
  try {
    parentPort?.postMessage({ call, value: await run(command, argument) });
  } catch (error) {
    parentPort?.postMessage({ call, error: String(error) });
  }
});

/** @param {'start' | 'retarget' | import('./relays.mjs').Command} command @param {any} argument */
async function run(command, argument) {
  if (command === 'retarget') return relays.get(argument.port)?.retarget(argument.targets);
  if (command !== 'start') return relays.get(argument)?.[command]();
  const relay = await startProxy(...argument);
  relays.set(relay.port, relay);
  return relay.port;
}
