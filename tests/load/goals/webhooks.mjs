import { startChild } from '../anchors/child.mjs';
import { clientOf, pause } from '../client.mjs';
import { openOrders, pay } from './stream.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */

const IN_FLIGHT = 64;

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
      ];
    } finally {
      await poster.stop();
      await receiver.stop();
    }
  },
};

/**
 * Events are held while the webhook is disabled; enabling it lets them all go at once.
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
      if (performance.now() - begun > 120_000) throw new Error(`${count} of ${events} deliveries came in two minutes`);
      await pause(20);
    }
  } finally {
    await call('DELETE', `/webhooks/${id}`);
  }
}
