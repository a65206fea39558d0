// `npm run receive`: receives and prints webhooks on this machine.
import { once } from 'node:events';
import { isPainted, lineOf, painter } from '../listen/event-line.mjs';
import { explain } from '../start/errors.mjs';
import { stopOnSignals } from '../start/shutdown.mjs';
import { parseOptions, shopOf, usage } from './options.mjs';
import { startReceiver } from './receiver.mjs';
import { register, unregister } from './registration.mjs';

const LOCAL = { listenOn: '127.0.0.1', name: '127.0.0.1' };
/** The name of this machine in docker-compose.yml; it does not resolve to loopback. */
const FROM_CONTAINERS = { listenOn: '0.0.0.0', name: 'host.docker.internal' };

const stop = stopOnSignals();
process.stdout.on('error', () => process.exit(0));
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) console.log(usage);
    else await receive(options);
    return 0;
  } catch (error) {
    console.error(explain(error));
    return 1;
  }
}

/** @param {import('./options.mjs').Options} options */
async function receive({ port, docker, register: isRegistering, keep, secrets, types, ...place }) {
  const colours = isPainted(process.stdout);
  const shop = isRegistering ? await shopOf({ ...place, docker }, process.env) : undefined;
  const { listenOn, name } = docker ? FROM_CONTAINERS : LOCAL;
  const receiver = await startReceiver({ port, host: listenOn }, (received) => console.log(lineFor(received, colours)));
  const url = `http://${name}:${receiver.port}/`;
  try {
    receiver.trust(secrets);
    console.error(`Receiving on ${url}`);
    if (shop) await registered(shop, url, { keep, types, trust: (secret) => receiver.trust([...secrets, secret]) });
    else await stopped();
  } finally {
    await receiver.close();
  }
}

/**
 * @param {import('./registration.mjs').Shop} shop
 * @param {string} url
 * @param {{ keep: boolean, types: string[] | undefined, trust: (secret: string) => void }} options
 */
async function registered(shop, url, { keep, types, trust }) {
  const { id, secret } = await register(shop, url, types);
  trust(secret);
  console.error(`Webhook ${id} registered at ${shop.url}${keep ? `, secret ${secret}` : ''}`);
  await stopped();
  if (keep) return;
  await unregister(shop, id);
  console.error(`Webhook ${id} deleted`);
}

async function stopped() {
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
}

/** @param {import('./receiver.mjs').Received} received @param {boolean} colours */
function lineFor({ id, event, fault }, colours) {
  const paint = painter(colours);
  const what = event ? lineOf(event, colours) : 'no JSON';
  const verdict = fault === undefined ? paint(32, 'verified') : paint(31, `NOT verified: ${fault}`);
  return `${what}  ${paint(90, id)}  ${verdict}`;
}
