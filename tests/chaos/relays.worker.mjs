// The thread of relays.mjs.
import { parentPort } from 'node:worker_threads';
import { startProxy } from '@plant-shop/testing/proxy';

/** @type {Map<number, import('@plant-shop/testing/proxy').TestProxy>} by their port */
const relays = new Map();

parentPort?.on('message', async ({ call, what, about }) => {
  try {
    parentPort?.postMessage({ call, value: await work(what, about) });
  } catch (error) {
    parentPort?.postMessage({ call, error: String(error) });
  }
});

/** @param {'start' | 'retarget' | import('./relays.mjs').Command} what @param {any} about */
async function work(what, about) {
  if (what === 'retarget') return relays.get(about.port)?.retarget(about.targets);
  if (what !== 'start') return relays.get(about)?.[what]();
  const relay = await startProxy(...about);
  relays.set(relay.port, relay);
  return relay.port;
}
