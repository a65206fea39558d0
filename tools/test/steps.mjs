import { join } from 'node:path';
import { buildRelease, mix, parseMixes, tour } from '../release/adjacent.mjs';
import { explain } from '../start/errors.mjs';
import { Shutdown } from '../start/shutdown.mjs';
import { subfolder } from './folder.mjs';
import { check, sum, tallyOfChaos } from './results.mjs';
import { contentOf, jest, node, nodeTests } from './run.mjs';
import { startServers } from './servers.mjs';
import { startShop } from './shop.mjs';

/**
 * @typedef {object} Bench the environment of a step
 * @property {string} folder temporary
 * @property {NodeJS.ProcessEnv} env with the pinned `node` on the PATH
 * @property {string[]} jestArgs
 * @property {readonly string[]} packages whose unit tests run; empty: all
 * @property {readonly string[]} [files] the only Jest files to run
 * @property {import('./output.mjs').Output} output of this step
 * @property {AbortController} stop
 * @property {import('../start/shutdown.mjs').Shutdown<'shop' | 'NATS' | 'Postgres' | 'temporary folder'>} shutdown
 */

/** @type {Record<import('./options.mjs').StepName, (bench: Bench) => Promise<import('./results.mjs').Tally>>} */
export const steps = {
  lint: async (bench) => {
    const cache = ['--cache', '--cache-location', 'node_modules/.cache/eslint/'];
    return check((await node(bench, ['node_modules/eslint/bin/eslint.js', '.', ...cache])) === 0, 'eslint');
  },

  tools: (bench) => nodeTests(bench, 'tools', 'tools/**/*.test.mjs'),

  // Tests wait for servers more than they compute: Jest's default, one worker less than cores, takes longer.
  unit: async (bench) => {
    const which = bench.files ? onlyFiles(bench.files) : ['--maxWorkers=3', ...bench.packages.map((folder) => `${folder}/`), ...bench.jestArgs];
    return jest(bench, 'unit', which, await startServers(bench));
  },

  acceptance: (bench) => acceptance(bench),

  // A short run of npm run chaos, always with the same seed.
  chaos: async (bench) => {
    const file = join(bench.folder, 'chaos.json');
    const code = await node(bench, ['tests/chaos/chaos.mjs', '--short', '--report', file], { endLimitMs: 45_000 });
    return tallyOfChaos({ code, report: contentOf(file) });
  },

  deploy: (bench) => nodeTests(bench, 'deploy', 'tests/deploy/*.test.mjs'),

  artefacts: (bench) => nodeTests(bench, 'artefacts', 'tests/deploy/artefacts/*.test.mjs'),

  // In a real browser, on its own shop.
  console: async (bench) => {
    const { findChromium } = await import('../../tests/console/kit/chromium-binary.mjs');
    const chromium = await findChromium({ signal: bench.stop.signal, say: (message) => bench.output.say(message) });
    // The tests report payments, so an order's status does not change in between.
    // In a separate folder, since another step's shop may still run in the shared one.
    const shop = await startShop({ ...bench, folder: subfolder(bench.folder, 'console') }, { PAYMENT_PROVIDER: 'external' });
    const env = { ...shop.env, ...chromium.env, CHROMIUM_BINARY: chromium.binary };
    const tally = await nodeTests(bench, 'console', bench.jestArgs[0] ?? 'tests/console/*.test.mjs', { env, concurrency: 2 });
    if (tally.failed > 0) bench.output.say(`\nThe shop's log:\n${shop.problems().join('\n')}`);
    return tally;
  },

  'artefacts-restarts': (bench) => nodeTests(bench, 'artefacts-restarts', 'tests/deploy/artefacts/restarts.nightly.mjs'),

  'artefacts-acceptance': async (bench) => {
    // Only this step imports packages, which do not exist before the installation.
    const { buildArtefacts } = await import('../../tests/deploy/artefacts/build.mjs');
    const folder = join(bench.folder, 'artefacts');
    bench.output.say(`Building the artefacts in ${folder}`);
    await buildArtefacts(folder, { env: bench.env, signal: bench.stop.signal });
    return acceptance(bench, { ARTEFACTS_DIR: folder });
  },

  adjacent: async (bench) => {
    const mixes = parseMixes(bench.jestArgs);
    /** @type {import('./results.mjs').Tally[]} */
    const tallies = [];
    for (const ref of new Set(mixes.map((one) => one.ref))) {
      const release = join(bench.folder, `release-${ref}`);
      bench.output.say(`Building ${ref} in ${release}`);
      await buildRelease(ref, release, { env: bench.env, signal: bench.stop.signal });
      for (const { service } of mixes.filter((one) => one.ref === ref)) {
        bench.output.say(`\n${service} of ${ref} with today's other services and schemas`);
        const folder = join(bench.folder, `${service}-of-${ref}`);
        mix(join(folder, 'artefacts'), release, service);
        const shutdown = new Shutdown(/** @type {const} */ (['shop']), (step, error) => bench.output.say(`Stopping (${step}): ${explain(error)}`));
        try {
          const shop = await startShop({ folder, stop: bench.stop, shutdown }, { ARTEFACTS_DIR: join(folder, 'artefacts') });
          const args = ['--config', join(release, 'tests/acceptance/jest.config.js'), '--runInBand', '--testPathPatterns', tour];
          const tally = await jest({ ...bench, folder }, 'acceptance', args, shop.env);
          if (tally.failed > 0) bench.output.say(`\nThe shop's log:\n${shop.problems().join('\n')}`);
          tallies.push(tally);
        } finally {
          await shutdown.run();
        }
      }
    }
    return sum(tallies);
  },
};

/** @param {Bench} bench @param {Record<string, string>} [variables] additional ones for the shop */
async function acceptance(bench, variables = {}) {
  const shop = await startShop(bench, variables);
  const args = ['--config', 'tests/acceptance/jest.config.js', ...(bench.files ? onlyFiles(bench.files) : ['--runInBand', ...bench.jestArgs])];
  const tally = await jest(bench, 'acceptance', args, shop.env);
  if (tally.failed > 0) bench.output.say(`\nThe shop's log:\n${shop.problems().join('\n')}`);
  return tally;
}

/** Returns the arguments that run these files one after another. @param {readonly string[]} files */
const onlyFiles = (files) => ['--runInBand', '--runTestsByPath', ...files];
