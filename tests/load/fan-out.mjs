// `npm run fan-out`: the effect of many webhook endpoints of all orders, at 200 events a second, on all other clients.
import { URLSearchParams } from 'node:url';
import { parseArgs } from 'node:util';
import { run } from '../../tools/start/command.mjs';
import { explain } from '../../tools/start/errors.mjs';
import { Shutdown, stopOnSignals } from '../../tools/start/shutdown.mjs';
import { checkPlatform, readyToolchain } from '../../tools/start/toolchain.mjs';
import { temporaryFolder } from '../../tools/test/folder.mjs';

const usage = `Prints a line every five seconds: how far webhooks are behind the log, and the latency of a customer's webhook and of stream frames.

  npm run fan-out                                       2,000 endpoints for 40 s
  npm run fan-out -- --endpoints 400 --seconds 20`;

const PER_SECOND = 200;
const SOCKETS = 100;
const EVERY_MS = 5_000;

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  const { values } = parseArgs({
    options: { endpoints: { type: 'string', default: '2000' }, seconds: { type: 'string', default: '40' }, help: { type: 'boolean' } },
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
    await measure(temporaryFolder(shutdown), shutdown, { endpoints: Number(values.endpoints), seconds: Number(values.seconds) });
    code = 0;
  } catch (error) {
    console.log(`\n${explain(error)}`);
  }
  await shutdown.run();
  return code;
}

/**
 * @param {string} folder @param {import('../../tools/start/shutdown.mjs').Shutdown<'shop' | 'temporary folder'>} shutdown
 * @param {{ endpoints: number, seconds: number }} load
 */
async function measure(folder, shutdown, { endpoints, seconds }) {
  const [{ Stack }, { clientOf, inParallel, pause, percentile }, { startChild }, { binary }, { openOrders, pay }] = await Promise.all([
    import('./stack.mjs'),
    import('./client.mjs'),
    import('./anchors/child.mjs'),
    import('./anchors/pgbench.mjs'),
    import('./goals/stream.mjs'),
  ]);
  const defaults = { WEBHOOK_RATE_PER_ENDPOINT: '1000', WEBHOOK_RATE_PER_HOST: '1000000', WEBHOOK_IN_FLIGHT_PER_ENDPOINT: '32' };
  const stack = await Stack.start(folder, { signal: stop.signal, env: { ...defaults, WEBHOOKS_PER_USER: '10000', STREAMS_PER_USER: '10000' } });
  shutdown.add('shop', () => stack.end());
  const database = stack.run.postgres.adminUrl.replace(/\/postgres$/, '/notifications');
  /** @param {string} sql */
  const ask = (sql) => run(binary('psql'), ['-X', '-q', '-t', '-A', '-F', ' ', '-d', database, '-c', sql], { what: 'psql', signal: stop.signal });
  const children = await Promise.all(['./receiver.child.mjs', './receiver.child.mjs', './sockets.child.mjs'].map((file) => startChild(`.${file}`)));
  const [crowd, own, sockets] = /** @type {[(typeof children)[0], (typeof children)[0], (typeof children)[0]]} */ (children);
  try {
    const admin = clientOf(stack.gatewayUrl);
    const user = { username: 'fan-out', password: 'a long enough password' };
    await admin('POST', '/user', user);
    const { message } = await admin('GET', `/user/login?${new URLSearchParams(user)}`);
    const customer = clientOf(stack.gatewayUrl, { authorization: `Bearer ${message}` });
    const plant = await admin('POST', '/plant', { name: 'Fan-out' });
    const orders = await openOrders(/** @type {any} */ ({ stack, plants: [plant.id] }), PER_SECOND * seconds);
    const owned = await inParallel(seconds, 16, () => customer('POST', '/store/order', { plantId: plant.id }));
    const eventTypes = ['order.status_changed'];
    await customer('POST', '/webhooks', { url: own.ready.url, eventTypes });
    await inParallel(endpoints, 16, () => admin('POST', '/webhooks', { url: crowd.ready.url, eventTypes }));
    await sockets.ask({ open: { urls: stack.streamUrls.map((url) => `${url}/v1/orders/updates?api_key=special-key`), sockets: SOCKETS } });
    console.log(`${endpoints} endpoints of all orders, ${PER_SECOND} events/s for ${seconds} s, then none for as long`);
    console.log('  time      log   created up to (own, all)   rows created /s   sent /s   customer: posts, p50, p99 ms   frames: p50, p99 ms');

    const begun = performance.now();
    let isOver = false;
    const paying = Promise.all([
      ...orders.map(async (order, n) => {
        await pause((n * 1_000) / PER_SECOND);
        await pay(stack, [order], 1);
      }),
      ...owned.map(async ({ id }, n) => {
        await pause(n * 1_000 + 500);
        await pay(stack, [id], 1);
      }),
    ]);
    paying.catch(() => (isOver = true));
    const hasCursors = (await ask(`SELECT to_regclass('webhook_cursors') IS NOT NULL`)).trim() === 't';
    let before = { made: 0, sent: 0, at: begun };
    while (!isOver && performance.now() - begun < seconds * 2_000) {
      await pause(EVERY_MS);
      const line = await ask(`SELECT f.watermark, w.watermark, ${hasCursors ? '(SELECT min(watermark) FROM webhook_cursors)' : 'w.watermark'},
        t.n_tup_ins, (SELECT coalesce(sum(n), 0) FROM (SELECT count(*) AS n FROM webhook_deliveries WHERE ended_at IS NOT NULL) AS ended)
        FROM feed_watermark f, webhook_watermark w, pg_stat_user_tables t WHERE t.relname = 'webhook_deliveries'`);
      const [log, upToOwn, upToAll, made = 0, sent = 0] = line.trim().split(' ').map(Number);
      const now = { made, sent, at: performance.now() };
      const perSecond = (/** @type {'made' | 'sent'} */ what) => Math.round(((now[what] - before[what]) * 1_000) / (now.at - before.at));
      const posts = (await own.ask({ lags: true })).lags;
      const frames = (await sockets.ask({ lags: true })).lags;
      await own.ask({});
      await sockets.ask({ reset: true });
      const both = (/** @type {number[]} */ lags) => `${percentile(lags, 0.5)} ${percentile(lags, 0.99)}`;
      console.log(
        `${String(Math.round((now.at - begun) / 1_000)).padStart(4)} s ${String(log).padStart(8)}   ${upToOwn} ${upToAll}   ${perSecond('made')}   ${perSecond('sent')}   ${posts.length} ${both(posts)}   ${frames.length > 0 ? both(frames) : '-'}`,
      );
      before = now;
    }
    await paying;
  } finally {
    for (const child of children) await child.stop();
  }
}
