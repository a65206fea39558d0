import { startChild } from '../anchors/child.mjs';
import { clientOf, pause } from '../client.mjs';
import { Stack } from '../stack.mjs';
import { openOrders, pay } from './stream.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */

const IN_FLIGHT = 64;
/** Response time of a slow receiver, in milliseconds. */
const SLOW_MS = 100;

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const webhookGoals = {
  P7: async (bench) => {
    const events = bench.quick ? 2_000 : 10_000;
    const receiver = await startChild('../receiver.child.mjs');
    const poster = await startChild('./posts.child.mjs');
    try {
      const posts = async () => {
        const begun = performance.now();
        await poster.ask({ url: receiver.ready.url.replace('/hook', '/sink'), count: events, inFlight: IN_FLIGHT });
        return (events * 1_000) / (performance.now() - begun);
      };
      const before = await posts();
      const ours = await deliver(bench, receiver, events);
      const after = await posts();
      return [
        {
          goal: 'P7',
          what: 'signed webhooks with leases and a log of attempts, against bare posts by undici',
          wanted: 0.25,
          ratio: ours / ((before + after) / 2),
          detail: { perSecond: ours, bare: [before, after] },
        },
        ...(await byReplicas(bench, receiver, events / 2)),
      ];
    } finally {
      await poster.stop();
      await receiver.stop();
    }
  },
};

/**
 * Measures the throughput of two and three replicas to a slow receiver, relative to one.
 * @param {Bench} bench @param {Awaited<ReturnType<typeof startChild>>} receiver @param {number} events
 * @returns {Promise<import('../bench.mjs').Row[]>}
 */
async function byReplicas(bench, receiver, events) {
  await receiver.ask({ delayMs: SLOW_MS });
  const perSecond = [];
  for (const replicas of [1, 2, 3]) {
    await restart(bench, ['--notifications', `${replicas}`]);
    perSecond.push(await deliver(bench, receiver, events));
  }
  await restart(bench);
  const [one = NaN, two = NaN, three = NaN] = perSecond;
  const detail = { perSecond };
  return [
    { goal: 'P7', what: `a receiver that takes ${SLOW_MS} ms: two replicas against one`, wanted: 1.8, ratio: two / one, detail },
    { goal: 'P7', what: 'the same: three replicas against one', wanted: 2.5, ratio: three / one, detail },
  ];
}

/** @param {Bench} bench @param {string[]} [args] */
async function restart(bench, args = []) {
  await bench.stack.stop();
  bench.stack = await Stack.start(bench.folder, { signal: bench.signal, args });
}

/**
 * Measures deliveries a second: events are held while the webhook is disabled, and all sent when it is enabled.
 * @param {Bench} bench @param {Awaited<ReturnType<typeof startChild>>} receiver @param {number} events
 * @returns {Promise<number>} per second
 */
async function deliver(bench, receiver, events) {
  const call = clientOf(bench.stack.gatewayUrl);
  const wanted = { url: receiver.ready.url, eventTypes: ['order.status_changed'] };
  const { id } = await call('POST', '/webhooks', wanted);
  try {
    await call('PUT', `/webhooks/${id}`, { ...wanted, state: 'disabled' });
    await pay(bench.stack, await openOrders(bench, events), IN_FLIGHT);
    await pause(2_000);
    await receiver.ask({ reset: true });
    const begun = performance.now();
    await call('PUT', `/webhooks/${id}`, { ...wanted, state: 'enabled' });
    for (;;) {
      const { count } = await receiver.ask({});
      if (count >= events) return (events * 1_000) / (performance.now() - begun);
      if (performance.now() - begun > 120_000) throw new Error(`${count} of ${events} deliveries arrived in two minutes`);
      await pause(20);
    }
  } finally {
    await call('DELETE', `/webhooks/${id}`);
  }
}
