import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { freePort } from '../../../tools/start/ports.mjs';
import { startChild } from '../anchors/child.mjs';
import { clientOf, inParallel, pause, percentile } from '../client.mjs';
import { inTurns, mean, median } from '../in-turns.mjs';
import { FASTIFY_MICROSECONDS } from '../reference.mjs';
import { spent } from '../stack.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */

const SOCKETS = 1_000;
const IDLE = 9_000;
/** Opened before, since a process that has just started grows with its first sockets. One user may open 10,000. */
const FIRST = 1_000;

/** Places orders that await payment. @param {Pick<Bench, 'stack' | 'plants'>} shop @param {number} count @returns {Promise<number[]>} */
export async function openOrders({ stack, plants }, count) {
  const call = clientOf(stack.gatewayUrl);
  const orders = await inParallel(count, 64, (n) => call('POST', '/store/order', { plantId: plants[n % plants.length] }));
  return orders.map(({ id }) => id);
}

/** Pays orders; each payment causes one event. @param {import('../stack.mjs').Stack} stack @param {number[]} orders @param {number} width */
export async function pay(stack, orders, width) {
  const call = clientOf(stack.gatewayUrl);
  await inParallel(orders.length, width, (n) =>
    call('POST', `/store/order/${orders[n]}/payment`, { outcome: 'succeeded', reference: `bench-${orders[n]}` }),
  );
}

/** @param {Bench} bench @param {number} sockets */
async function listeners({ stack }, sockets) {
  const child = await startChild('../sockets.child.mjs');
  const urls = stack.streamUrls.map((url) => `${url}/v1/orders/updates?api_key=special-key`);
  await child.ask({ open: { urls, sockets } });
  return child;
}

/** @param {{ ask: (message: object) => Promise<any> }} child @param {number} frames */
async function untilFrames(child, frames) {
  const limit = performance.now() + 60_000;
  for (;;) {
    const { frames: seen, closed } = await child.ask({});
    if (seen >= frames) return;
    if (closed > 0) throw new Error(`${closed} sockets were closed`);
    if (performance.now() > limit) throw new Error(`${seen} of ${frames} frames arrived`);
    await pause(20);
  }
}

/**
 * Measures the frames per CPU second of notifications when every socket gets each event.
 * @param {Bench} bench @param {{ events: number, width: number, everyMs: number }} how
 */
async function framesPerCpuSecond(bench, { events, width, everyMs }) {
  const orders = await openOrders(bench, events);
  const child = await listeners(bench, SOCKETS);
  try {
    await pause(1_000);
    const before = bench.stack.use();
    for (let first = 0; first < orders.length; first += width) {
      await pay(bench.stack, orders.slice(first, first + width), width);
      await pause(everyMs);
    }
    await untilFrames(child, events * SOCKETS);
    const { parts } = spent(before, bench.stack.use());
    return (events * SOCKETS) / /** @type {number} */ (parts['notifications']);
  } finally {
    await child.stop();
  }
}

/** @param {number} events */
async function naiveFramesPerCpuSecond(events) {
  const server = await startChild('./sockets.child.mjs');
  const child = await startChild('../sockets.child.mjs');
  try {
    await child.ask({ open: { urls: [`${server.ready.url}/`], sockets: SOCKETS } });
    const before = server.seconds();
    for (let n = 0; n < events; n++) {
      await server.ask({ events: 1 });
      await pause(5);
    }
    await untilFrames(child, events * SOCKETS);
    return (events * SOCKETS) / (server.seconds() - before);
  } finally {
    await child.stop();
    await server.stop();
  }
}

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const streamGoals = {
  P6: async (bench) => {
    const events = bench.quick ? 100 : 300;
    const naive = () => naiveFramesPerCpuSecond(events);
    const single = await inTurns(bench.rounds, naive, () => framesPerCpuSecond(bench, { events, width: 1, everyMs: 20 }));
    const bursts = await inTurns(bench.rounds, naive, () => framesPerCpuSecond(bench, { events: events * 4, width: 50, everyMs: 100 }));
    /** @param {(typeof single)[number]} round */
    const ratioOf = ({ ours, anchors }) => ours / mean(anchors);
    return [
      { goal: 'P6', what: 'one event to 1,000 sockets: frames per CPU second, against naive sending', wanted: 1, ...median(single, ratioOf) },
      { goal: 'P6', what: 'the same in bursts of 10 and more', wanted: 5, ...median(bursts, ratioOf) },
      await idleSockets(bench),
    ];
  },
  P9: async (bench) => {
    const alone = await inTurns(bench.latencyRounds, () => bench.fastify(), () => latencies(bench));
    /** @param {'frames' | 'posts'} to */
    const lateness = (to) => median(alone, ({ ours, anchors: [before, after] }) => (ours[to].p99 * FASTIFY_MICROSECONDS) / mean([before.cpu, after.cpu]));
    const beside = await besideDestinations(bench);
    /** @param {'frames' | 'posts'} to */
    const slowdown = (to) => median(beside, ({ ours, anchors: [before, after] }) => ours[to].p99 / mean([before[to].p99, after[to].p99]));
    return [
      { goal: 'P9', what: '200 events/s, 1,000 sockets: status change to frame, p99 in ms', wanted: 100, atMost: true, ...lateness('frames') },
      { goal: 'P9', what: 'the same, to the first POST of a webhook, p99 in ms', wanted: 250, atMost: true, ...lateness('posts') },
      { goal: 'P9', what: 'the same beside two destinations, ratio to both disabled: frame', wanted: 1.1, atMost: true, ...slowdown('frames') },
      { goal: 'P9', what: 'the same beside two destinations, ratio to both disabled: POST', wanted: 1.1, atMost: true, ...slowdown('posts') },
    ];
  },
};

/** Latencies while two destinations get all events, in turns with those while both are disabled. @param {Bench} bench */
async function besideDestinations(bench) {
  const port = await freePort();
  await bench.restart(['--jetstream'], { JETSTREAM_PORT: `${port}` });
  const connection = await connect({ port });
  try {
    const { streams } = await jetstreamManager(connection);
    const call = clientOf(bench.stack.gatewayUrl);
    /** @type {{ id: string, name: string, url: string, stream: string, subject: string }[]} */
    const made = [];
    for (const name of ['WAREHOUSE', 'ANALYTICS']) {
      await streams.add({ name, subjects: [`${name}.>`] });
      const destination = { name, url: `nats://127.0.0.1:${port}`, stream: name, subject: name };
      made.push({ ...destination, id: (await call('POST', '/destinations', destination)).id });
    }
    /** What a destination missed while it was disabled reaches it during the warm-up. @param {'enabled' | 'disabled'} state */
    const measured = async (state) => {
      for (const { id, ...settings } of made) await call('PUT', `/destinations/${id}`, { ...settings, state });
      return latencies(bench);
    };
    const rounds = await inTurns(bench.latencyRounds, () => measured('disabled'), () => measured('enabled'));
    const counts = await Promise.all(made.map(async ({ name }) => (await streams.info(name)).state.messages));
    if (Math.min(...counts) < bench.latencyRounds * bench.latencyEvents.reduce((total, one) => total + one, 0)) throw new Error(`${counts} events reached the destinations`);
    return rounds;
  } finally {
    await connection.close();
    await bench.restart();
  }
}

/**
 * Measures the latency from a status change to sockets and a webhook, at 200 events a second. Starts with events that do not count,
 * since everything is cold in the first second of a load.
 * @param {Bench} bench
 */
async function latencies(bench) {
  const receiver = await startChild('../receiver.child.mjs');
  const call = clientOf(bench.stack.gatewayUrl);
  const webhook = await call('POST', '/webhooks', { url: receiver.ready.url, eventTypes: ['order.status_changed'] });
  const child = await listeners(bench, SOCKETS);
  try {
    for (const events of bench.latencyEvents) {
      const orders = await openOrders(bench, events);
      await receiver.ask({ reset: true });
      await child.ask({ reset: true });
      // Open loop: does not wait for responses.
      await Promise.all(
        orders.map(async (order, n) => {
          await pause(n * 5);
          await pay(bench.stack, [order], 1);
        }),
      );
      await untilFrames(child, events * SOCKETS);
      await untilPosted(receiver, events);
    }
    const [{ lags: frames }, { lags: posts }] = [await child.ask({ lags: true }), await receiver.ask({ lags: true })];
    return { frames: quantiles(frames), posts: quantiles(posts) };
  } finally {
    await call('DELETE', `/webhooks/${webhook.id}`);
    await child.stop();
    await receiver.stop();
  }
}

/** @param {number[]} lags */
const quantiles = (lags) => ({ p50: percentile(lags, 0.5), p99: percentile(lags, 0.99) });

/** @param {{ ask: (message: object) => Promise<any> }} receiver @param {number} events */
async function untilPosted(receiver, events) {
  const limit = performance.now() + 60_000;
  for (;;) {
    const { count } = await receiver.ask({});
    if (count === events) return;
    if (count > events) throw new Error(`${count} events reached the webhook, of ${events}`);
    if (performance.now() > limit) throw new Error(`${count} of ${events} events reached the webhook`);
    await pause(20);
  }
}

/** @param {Bench} bench @returns {Promise<import('../bench.mjs').Row>} */
async function idleSockets(bench) {
  // Otherwise memory that an earlier load left would be freed or used again.
  await bench.restart();
  const rssOf = async () => {
    await pause(5_000);
    return bench.stack.use().notifications.rss;
  };
  const first = await listeners(bench, FIRST);
  const before = await rssOf();
  const child = await listeners(bench, IDLE);
  try {
    const each = ((await rssOf()) - before) / IDLE / 1_000;
    return { goal: 'P6', what: `memory of each of ${IDLE} idle sockets, kB`, wanted: 12, ratio: each, atMost: true, detail: { before } };
  } finally {
    await child.stop();
    await first.stop();
  }
}
