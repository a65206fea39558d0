import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { clientOf, percentile } from '../client.mjs';

/** @typedef {import('../bench.mjs').Bench} Bench */

const QUARTILES = [0.25, 0.5, 0.75];

/** @type {Record<string, (bench: Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const loginGoals = {
  S4: async (bench) => {
    const pairs = bench.quick ? 100 : 500;
    const warmUp = 20;
    const users = Array.from({ length: warmUp + pairs }, (_, n) => ({ username: `known-${n}`, password: 'a-good-password' }));
    const call = clientOf(bench.stack.gatewayUrl);
    for (let n = 0; n < users.length; n += 100) await call('POST', '/user/createWithList', users.slice(n, n + 100));

    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const times = { known: /** @type {number[]} */ ([]), unknown: /** @type {number[]} */ ([]) };
    const kinds = /** @type {const} */ (['known', 'unknown']);
    for (let n = 0; n < users.length; n++) {
      // Each name fails once, so both kinds write the same rows; the kinds alternate in going first.
      for (const kind of n % 2 === 0 ? kinds : kinds.toReversed()) {
        const ms = await timeOfRefusal(agent, bench.stack.gatewayUrl, `${kind}-${n}`);
        if (n >= warmUp) times[kind].push(ms);
      }
    }
    agent.destroy();
    const [known, unknown] = kinds.map((kind) => QUARTILES.map((share) => percentile(times[kind], share)));
    const [knownMedian = NaN, unknownMedian = NaN] = kinds.map((kind) => percentile(times[kind], 0.5));
    const ratio = Math.max(knownMedian / unknownMedian, unknownMedian / knownMedian);
    console.log(`logins: ${pairs} of known names, ${pairs} of unknown ones: medians ${knownMedian.toFixed(2)} and ${unknownMedian.toFixed(2)} ms, ${((ratio - 1) * 100).toFixed(1)} % apart`);
    const what = `refused logins, ${pairs} known and ${pairs} unknown names: the larger median against the smaller`;
    return [{ goal: 'S4', what, wanted: 1.05, ratio, atMost: true, detail: { quartilesMs: { known, unknown } } }];
  },
};

/** @param {Agent} agent @param {string} gatewayUrl @param {string} username @returns {Promise<number>} milliseconds until the response was read */
async function timeOfRefusal(agent, gatewayUrl, username) {
  const begun = performance.now();
  const sent = request(`${gatewayUrl}/v3/user/login?username=${username}&password=a-wrong-password`, { agent }).end();
  const [answer] = /** @type {[import('node:http').IncomingMessage]} */ (await once(sent, 'response'));
  const body = await text(answer);
  const ms = performance.now() - begun;
  if (JSON.parse(body).code !== 'login-failed') throw new Error(`A wrong password got ${answer.statusCode} ${body}`);
  return ms;
}
