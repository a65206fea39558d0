import { pause } from '../client.mjs';
import { spent } from '../stack.mjs';

/** @type {Record<string, (bench: import('../bench.mjs').Bench) => Promise<import('../bench.mjs').Row[]>>} */
export const startGoals = {
  P10: async (bench) => {
    // The second start on the same data, with everything built and migrated.
    await bench.restart();
    await pause(10_000);
    const before = bench.stack.use();
    await pause(10_000);
    const idle = spent(before, bench.stack.use());
    const services = Object.entries(bench.stack.use()).filter(([name]) => name !== 'postgres' && name !== 'nats');
    const own = services.reduce((total, [, { rss, files }]) => total + rss - files, 0) / 1e6;
    // Mostly Node's binary, which is in memory once. How much of it counts for a process depends on how it was written to disk: 60 or
    // 88 MB.
    const shared = Math.max(...services.map(([, { files }]) => files)) / 1e6;
    const summed = services.reduce((total, [, { rss }]) => total + rss, 0) / 1e6;
    const each = Object.fromEntries(services.map(([name, { rss, files }]) => [name, { all: rss / 1e6, files: files / 1e6 }]));
    return [
      { goal: 'P10', what: 'npm start, warm: seconds until all answer', wanted: 8, ratio: bench.stack.readyMs / 1_000, atMost: true, detail: {} },
      { goal: 'P10', what: 'CPU of an idle shop, % of a core', wanted: 10, ratio: idle.total * 10, atMost: true, detail: idle.parts },
      { goal: 'P10', what: 'memory of all five services, MB, shared files once', wanted: 700, ratio: own + shared, atMost: true, detail: { summed, ...each } },
    ];
  },
};
