import { startChild } from './anchors/child.mjs';
import { Pgbench } from './anchors/pgbench.mjs';
import { clientOf, inParallel } from './client.mjs';
import { measure } from './http.mjs';
import { Stack } from './stack.mjs';

/**
 * A row of the result table.
 * @typedef {object} Row
 * @property {string} goal
 * @property {string} what
 * @property {number} wanted
 * @property {number} ratio
 * @property {boolean} [atMost] `wanted` is a maximum, not a minimum
 * @property {[number, number]} [possible] the least and the largest value that can be; by default above 0
 * @property {string} [noClaim] why the value shows nothing, such as too short a load
 * @property {object} detail
 */

/** The environment of the measurements. */
export class Bench {
  /** @type {number[]} */
  plants = [];

  /** @param {{ folder: string, stack: Stack, pgbench: Pgbench, quick: boolean, attack: string, orders: number | undefined, signal: AbortSignal }} parts */
  constructor({ folder, stack, pgbench, quick, attack, orders, signal }) {
    this.folder = folder;
    this.stack = stack;
    this.pgbench = pgbench;
    this.quick = quick;
    this.signal = signal;
    /** What the names of the attacks of S8 that are tried must contain. */
    this.attack = attack;
    /** The orders of P8's large shop; undefined: as many as it has by default. */
    this.orders = orders;
    /** Duration of a load, after a warm-up that does not count. */
    this.seconds = quick ? 4 : 15;
    this.warmUp = quick ? 2 : 5;
    /** Several short rounds, each between two runs of the anchor, instead of one long load. */
    this.rounds = quick ? 1 : 3;
    this.roundSeconds = quick ? 3 : 5;
    /** Rounds of measurements without an anchor. */
    this.latencyRounds = quick ? 1 : 9;
    /** Events per round: warm-up, and measured. */
    this.latencyEvents = quick ? [200, 600] : [400, 2_000];
    /** Of rows whose load is shorter in a quick run. @type {{ noClaim?: string }} */
    this.shortened = quick ? { noClaim: 'a quick run' } : {};
  }

  /** @param {{ folder: string, quick: boolean, attack?: string, orders?: number, signal: AbortSignal }} options */
  static async open({ folder, quick, attack = '', orders, signal }) {
    const stack = await Stack.start(folder, { signal });
    const bench = new Bench({ folder, stack, pgbench: new Pgbench({ folder, postgres: stack.run.postgres, signal }), quick, attack, orders, signal });
    const call = clientOf(stack.gatewayUrl);
    const made = await inParallel(1_000, 32, (n) => call('POST', '/plant', { name: `Plant ${n}` }));
    bench.plants = made.map(({ id }) => id);
    await bench.pgbench.prepare();
    return bench;
  }

  /** Starts the shop again on its data. @param {string[]} [args] @param {Record<string, string>} [env] */
  async restart(args = [], env = {}) {
    await this.stack.stop();
    this.stack = await Stack.start(this.folder, { signal: this.signal, args, env });
  }

  /** Measures anchor F for a round. @returns {Promise<{ perSecond: number, cpu: number, loadCpu: number }>} its CPU and that of the load, in microseconds a request */
  async fastify() {
    const child = await startChild('./fastify.child.mjs');
    try {
      const load = { url: child.ready.url, connections: 64, requests: () => [{ method: /** @type {const} */ ('GET'), path: '/' }] };
      await measure({ ...load, seconds: 2 });
      const before = child.seconds();
      const { requests, perSecond, loadCpu } = await measure({ ...load, seconds: this.roundSeconds });
      return { perSecond, cpu: ((child.seconds() - before) * 1e6) / requests, loadCpu };
    } finally {
      await child.stop();
    }
  }
}
