import { startChild } from '../anchors/child.mjs';
import { clientOf, pause } from '../client.mjs';
import { openOrders, pay } from './stream.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */

const IN_FLIGHT = 64;
const EVENTS = 40_000;
const POSTS = 60_000;
/** For each replica: five seconds and more after the first two. */
const SLOW_EVENTS = 4_500;
/** Response time of a slow receiver, in milliseconds. */
const SLOW_MS = 100;

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const webhookGoals = {
  P7: async (bench) => {
    const receiver = await startChild('../receiver.child.mjs');
    const poster = await startChild('./posts.child.mjs');
    try {
      const posts = async () => {
        const begun = performance.now();
        await poster.ask({ url: receiver.ready.url.replace('/hook', '/sink'), count: POSTS, inFlight: IN_FLIGHT });
        return (POSTS * 1_000) / (performance.now() - begun);
      };
      const before = await posts();
      const ours = await deliver(bench, receiver, EVENTS);
      const after = await posts();
      return [
        {
          goal: 'P7',
          what: 'signed webhooks with leases and a log of attempts, against bare posts by undici',
          wanted: 0.25,
          ratio: ours.perSecond / ((before + after) / 2),
          detail: { ...ours, bare: [before, after] },
          ...tooShort([ours]),
        },
        ...(await byReplicas(bench, receiver)),
      ];
    } finally {
      await poster.stop();
      await receiver.stop();
    }
  },
};

/**
 * Measures the throughput of two and three replicas to a slow receiver, relative to one.
 * @param {Bench} bench @param {Awaited<ReturnType<typeof startChild>>} receiver
 * @returns {Promise<import('../bench.mjs').Row[]>}
 */
async function byReplicas(bench, receiver) {
  await receiver.ask({ delayMs: SLOW_MS });
  const measured = [];
  for (const replicas of [1, 2, 3]) {
    await bench.restart(['--notifications', `${replicas}`]);
    measured.push(await deliver(bench, receiver, replicas * SLOW_EVENTS));
  }
  await bench.restart();
  const [one = NaN, two = NaN, three = NaN] = measured.map(({ perSecond }) => perSecond);
  const common = { goal: 'P7', detail: { measured }, ...tooShort(measured) };
  // No replica adds more than it does alone, but for the noise.
  return [
    { what: `a receiver that takes ${SLOW_MS} ms: two replicas against one`, wanted: 1.8, ratio: two / one, possible: [0, 2.2], ...common },
    { what: 'the same: three replicas against one', wanted: 2.5, ratio: three / one, possible: [0, 3.3], ...common },
  ];
}

/** @param {{ seconds: number }[]} measured @returns {{ noClaim?: string }} */
function tooShort(measured) {
  const shortest = Math.min(...measured.map(({ seconds }) => seconds));
  return shortest < 2 ? { noClaim: `measured for ${shortest.toFixed(1)} s` } : {};
}

/**
 * Measures deliveries a second: events are held while the webhook is disabled, and all sent when it is enabled. Those of the first two
 * seconds do not count, while replicas find the webhook and its share of attempts grows.
 * @param {Bench} bench @param {Awaited<ReturnType<typeof startChild>>} receiver @param {number} events
 * @returns {Promise<{ perSecond: number, seconds: number }>} measured for so many seconds
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
    await call('PUT', `/webhooks/${id}`, { ...wanted, state: 'enabled' });
    await pause(2_000);
    const begun = performance.now();
    const { count: before } = await receiver.ask({});
    for (;;) {
      const { count } = await receiver.ask({});
      const seconds = (performance.now() - begun) / 1_000;
      if (count >= events) return { perSecond: (events - before) / seconds, seconds };
      if (seconds > 120) throw new Error(`${count} of ${events} deliveries arrived in two minutes`);
      await pause(20);
    }
  } finally {
    await call('DELETE', `/webhooks/${id}`);
  }
}
