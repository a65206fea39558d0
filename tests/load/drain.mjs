// `npm run drain`: stops one of two replicas of notifications with thousands of clients, which all reconnect to the other.
import { parseArgs } from 'node:util';
import { explain } from '../../tools/start/errors.mjs';
import { Shutdown, stopOnSignals } from '../../tools/start/shutdown.mjs';
import { checkPlatform, readyToolchain } from '../../tools/start/toolchain.mjs';
import { temporaryFolder } from '../../tools/test/folder.mjs';
import { useOf } from './processes.mjs';

const usage = `Prints how many clients reconnect to the remaining replica per second, how long they wait, and the effect on its own clients.

  npm run drain                                         10,000 WebSockets that obey the reconnect delay
  npm run drain -- --sse                                10,000 clients of Server-Sent Events
  npm run drain -- --at-once                            clients that ignore the delay and reconnect at once
  npm run drain -- --clients 2000`;

/** Clients of the remaining replica, which measure the effect of the others' arrival. */
const BYSTANDERS = 50;
const QUIET_MS = 8_000;
const EVENT_EVERY_MS = 500;
const LIMIT_MS = 90_000;

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  const { values } = parseArgs({
    options: {
      clients: { type: 'string', default: '10000' },
      sse: { type: 'boolean', default: false },
      'at-once': { type: 'boolean', default: false },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const shutdown = new Shutdown(/** @type {const} */ (['shop', 'temporary folder']), (step, error) => console.log(`Stopping (${step}): ${explain(error)}`));
  let code = 1;
  try {
    checkPlatform();
    await readyToolchain({ signal: stop.signal, say: console.log });
    await measure(temporaryFolder(shutdown), shutdown, { clients: Number(values.clients), isSse: values.sse, isAdvised: !values['at-once'] });
    code = 0;
  } catch (error) {
    console.log(`\n${explain(error)}`);
  }
  await shutdown.run();
  return code;
}

/**
 * @param {string} folder @param {import('../../tools/start/shutdown.mjs').Shutdown<'shop' | 'temporary folder'>} shutdown
 * @param {{ clients: number, isSse: boolean, isAdvised: boolean }} load
 */
async function measure(folder, shutdown, { clients, isSse, isAdvised }) {
  const [{ Stack }, { clientOf, pause, percentile }, { startChild }, { openOrders, pay }] = await Promise.all([
    import('./stack.mjs'),
    import('./client.mjs'),
    import('./anchors/child.mjs'),
    import('./goals/stream.mjs'),
  ]);
  const env = { STREAMS_PER_USER: '100000' };
  const stack = await Stack.start(folder, { signal: stop.signal, args: ['--notifications', '2'], env });
  shutdown.add('shop', () => stack.end());
  const [left = '', right = ''] = stack.streamUrls.map((url) => `${url}/v1/orders/updates?api_key=special-key`);
  const [crowd, bystanders] = [await startChild('../resuming.child.mjs'), await startChild('../resuming.child.mjs')];
  try {
    const plant = await clientOf(stack.gatewayUrl)('POST', '/plant', { name: 'Drain' });
    const orders = await openOrders(/** @type {any} */ ({ stack, plants: [plant.id] }), 400);
    await bystanders.ask({ open: { url: right, cursor: 'latest', clients: BYSTANDERS, isSse: false } });
    await crowd.ask({ open: { url: left, cursor: 'latest', clients, isSse } });
    let events = 0;
    let isOver = false;
    const moving = (async () => {
      for (; !isOver && events < orders.length; events++, await pause(EVENT_EVERY_MS)) await pay(stack, [/** @type {number} */ (orders[events])], 1);
    })();
    await pause(QUIET_MS);
    const quiet = (await bystanders.ask({ all: true })).lags;
    await bystanders.ask({ reset: true });
    await crowd.ask({ reset: true, next: { to: right, isAdvised } });

    const [leaving, staying] = stack.run.services.notifications;
    const cpu = useOf(staying.pid).seconds;
    const begun = performance.now();
    process.kill(leaving.pid, 'SIGTERM');
    let seen = { open: 0, least: 0, most: 0, reconnections: /** @type {{ at: number, ms: number }[]} */ ([]), refusals: {} };
    while (seen.open < clients && performance.now() - begun < LIMIT_MS) {
      await pause(500);
      seen = await crowd.ask({});
    }
    const tookMs = performance.now() - begun;
    const cpuSeconds = useOf(staying.pid).seconds - cpu;
    const during = (await bystanders.ask({ all: true })).lags;
    isOver = true;
    await moving;
    for (const end = performance.now() + 15_000; seen.least < events && performance.now() < end; await pause(200)) seen = await crowd.ask({});

    seen = await crowd.ask({ all: true });
    const first = Math.min(...seen.reconnections.map(({ at }) => at));
    /** @type {number[]} */
    const perSecond = [];
    for (const { at } of seen.reconnections) perSecond[Math.floor((at - first) / 1_000)] = (perSecond[Math.floor((at - first) / 1_000)] ?? 0) + 1;
    const waits = seen.reconnections.map(({ ms }) => ms);
    const ofLags = (/** @type {number[]} */ lags) => `p50 ${percentile(lags, 0.5)}, p99 ${percentile(lags, 0.99)}, max ${percentile(lags, 1)} ms`;
    console.log(`${clients} clients by ${isSse ? 'Server-Sent Events' : 'WebSocket'}, reconnecting ${isAdvised ? 'after the advised delay' : 'at once'}`);
    console.log(`  reconnected      ${seen.open} in ${(tookMs / 1_000).toFixed(1)} s`);
    console.log(`  peak per second  ${Math.max(...perSecond.filter(Boolean))}`);
    console.log(`  until open       p50 ${Math.round(percentile(waits, 0.5))}, p99 ${Math.round(percentile(waits, 0.99))}, max ${Math.round(percentile(waits, 1))} ms`);
    console.log(`  refused or cut   ${JSON.stringify(seen.refusals)}`);
    console.log(`  events           ${events}; each client got ${seen.least === seen.most ? seen.least : `${seen.least} to ${seen.most}`}`);
    console.log(`  other frames     ${ofLags(quiet)} before; ${ofLags(during)} during the drain`);
    console.log(`  CPU              ${cpuSeconds.toFixed(1)} s of the remaining replica`);
    if (seen.open < clients || seen.least !== events || seen.most !== events) throw new Error('Clients or events are missing.');
  } finally {
    for (const child of [crowd, bystanders]) await child.stop();
  }
}
