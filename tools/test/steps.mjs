import { join } from 'node:path';
import { buildRelease, commitOf, mix, namesOfTests, parseMixes, tour } from '../release/adjacent.mjs';
import { readRelease } from '../release/releases.mjs';
import { explain } from '../start/errors.mjs';
import { Shutdown } from '../start/shutdown.mjs';
import { ROOT } from '../start/toolchain.mjs';
import { subfolder } from './folder.mjs';
import { check, sum, tallyOfChaos, together } from './results.mjs';
import { contentOf, jest, node, nodeTests } from './run.mjs';
import { natsForTests, startServers } from './servers.mjs';
import { startShop } from './shop.mjs';

/**
 * @typedef {object} StepContext
 * @property {string} folder temporary, of this step
 * @property {NodeJS.ProcessEnv} env with the pinned `node` on the PATH
 * @property {boolean} isQuick leave out what takes long and seldom breaks
 * @property {string[]} jestArgs
 * @property {readonly string[]} packages whose unit tests run; empty: all
 * @property {readonly string[] | undefined} [files] the only Jest files to run
 * @property {import('./durations.mjs').Durations} durations of steps and files, which steps add to
 * @property {import('./durations.mjs').StepDuration} duration of this step
 * @property {AbortController} stop
 * @property {number} [fd] of the output of commands; by default the terminal
 * @property {import('../start/shutdown.mjs').Shutdown<'shop' | 'NATS' | 'Postgres'>} shutdown at the end of this step
 */

/** Unit tests that crash, cut off or fill up real services: they take minutes, and break when the mechanism that they prove changes. */
const SLOW = '\\.(crash|slow)\\.int-spec\\.ts$';

/** Tests whose names say so: they took more than 0.7 s beside others. A twentieth of all, they are more than half of the time. */
const SLOW_TEST = '\\(slow\\)';
/** CI has time for what `npm test` leaves out of its steps. @param {StepContext} context */
const leavesOutSlow = ({ isQuick }) => isQuick && process.env['SLOW_TESTS'] !== 'true';
/** Arguments for Jest. @param {StepContext} context */
const withoutSlow = (context) => (leavesOutSlow(context) ? [`--testNamePattern=^(?!.*${SLOW_TEST})`] : []);

/** @type {Record<import('./options.mjs').StepName, (context: StepContext) => Promise<import('./results.mjs').Tally>>} */
export const steps = {
  // Knip finds unused files, exports and packages; its second run, packages that only tests may use.
  lint: async (context) => {
    const knip = ['node_modules/knip/bin/knip.js', '--no-progress', '--no-config-hints'];
    const production = ['--production', '--strict', '--include', 'dependencies,unlisted'];
    const linters = [['node_modules/oxlint/bin/oxlint', '--config', 'oxlint.config.mjs'], [...knip, '--include', 'files,dependencies,unlisted,exports,types'], [...knip, ...production]];
    const tallies = [];
    for (const one of leavesOutSlow(context) ? linters.slice(0, 2) : linters) tallies.push(check((await node(context, one)) === 0, one.join(' ')));
    return sum(tallies);
  },

  tools: (context) => nodeTests(context, 'tools', '{tools,tests/load}/**/*.test.mjs', leavesOutSlow(context) ? { without: SLOW_TEST } : {}),

  // Tests wait for servers more than they compute: Jest's default, one worker less than cores, takes several times longer. A worker keeps the
  // modules of the files that it has run. Restarting it beyond this size takes no longer than collecting that heap, and they need less memory.
  unit: async (context) => {
    const { files, isQuick, packages, jestArgs } = context;
    const all = ['--maxWorkers=4', '--workerIdleMemoryLimit=1GB', ...(isQuick ? ['--testPathIgnorePatterns', SLOW] : []), ...withoutSlow(context), ...packages.map((folder) => `${folder}/`), ...jestArgs];
    const which = files ? onlyFiles(files) : all;
    return jest(context, 'unit', which, await startServers(context));
  },

  acceptance: (context) => acceptance(context),

  // A short restore drill, and a short run of npm run chaos, always with the same seed.
  chaos: async (context) => {
    const tallies = [];
    for (const what of context.jestArgs.length > 0 ? [context.jestArgs] : [['--drill'], []]) {
      const file = join(context.folder, `chaos${what.join('')}.json`);
      const code = await node(context, ['tests/chaos/chaos.mjs', '--short', '--report', file, ...what], { endLimitMs: 45_000 });
      tallies.push(tallyOfChaos({ code, report: contentOf(file) }));
    }
    return sum(tallies);
  },

  deploy: (context) => nodeTests(context, 'deploy', 'tests/deploy/*.test.mjs'),

  artefacts: async (context) => nodeTests(context, 'artefacts', 'tests/deploy/artefacts/*.test.mjs', { env: await artefacts(context) }),

  // In a real browser, on its own shop.
  console: async (context) => {
    const { findChromium } = await import('../../tests/console/kit/chromium-binary.mjs');
    const chromium = await findChromium({ signal: context.stop.signal, say: console.log });
    // The tests report payments, so an order's status does not change in between.
    // Browsers support passkeys only for names.
    const shop = await startShop(context, { PAYMENT_PROVIDER: 'external' }, 'localhost');
    const { binary } = await natsForTests(context.stop.signal);
    const env = { ...shop.env, ...chromium.env, CHROMIUM_BINARY: chromium.binary, TEST_NATS_SERVER_BINARY: binary };
    const files = context.isQuick ? 'tests/console/{login,orders,texts}.test.mjs' : 'tests/console/*.test.mjs';
    const tally = await nodeTests(context, 'console', context.jestArgs[0] ?? files, { env, concurrency: 2, ...(leavesOutSlow(context) && { without: SLOW_TEST }) });
    if (tally.failed > 0) console.log(`\nThe shop's log:\n${shop.lastLogLines().join('\n')}`);
    return tally;
  },

  'artefacts-nightly': async (context) => nodeTests(context, 'artefacts-nightly', 'tests/deploy/artefacts/*.nightly.mjs', { env: await artefacts(context) }),

  'artefacts-acceptance': async (context) => acceptance(context, await artefacts(context)),

  adjacent: async (context) => {
    const mixes = await Promise.all(parseMixes(context.jestArgs).map(async (one) => ({ ...one, commit: await commitOf(one.ref) })));
    /** @type {import('./results.mjs').Tally[]} */
    const tallies = [];
    for (const commit of new Set(mixes.map((one) => one.commit))) {
      const release = join(context.folder, `release-${commit}`);
      console.log(`Building ${commit} in ${release}`);
      await buildRelease(commit, release, { env: context.env, signal: context.stop.signal });
      for (const { service, ref } of mixes.filter((one) => one.commit === commit)) {
        console.log(`\n${service} of ${ref} with today's other services and schemas`);
        const folder = join(context.folder, `${service}-of-${ref}`);
        mix(join(folder, 'artefacts'), release, service);
        const shutdown = new Shutdown(/** @type {const} */ (['shop']), (step, error) => console.log(`Stopping failed (${step}): ${explain(error)}`));
        try {
          const shop = await startShop({ folder, stop: context.stop, shutdown }, { ARTEFACTS_DIR: join(folder, 'artefacts') });
          const args = ['--config', join(release, 'tests/acceptance/jest.config.js'), '--runInBand', '--setupFilesAfterEnv', join(ROOT, 'tools/release/additions.mjs'), '--testPathPatterns', tour, '--testNamePattern', namesOfTests(Object.keys(readRelease(service).wanted))];
          const tally = await jest({ ...context, folder }, 'acceptance', args, shop.env);
          if (tally.failed > 0) console.log(`\nThe shop's log:\n${shop.lastLogLines().join('\n')}`);
          tallies.push(tally);
        } finally {
          await shutdown.run();
        }
      }
    }
    return sum(tallies);
  },
};

/** Builds the contents of the images. @param {StepContext} context @returns {Promise<Record<string, string>>} the variable by which tests find them */
async function artefacts({ folder, env, stop }) {
  // Not imported above, since its packages do not exist before the installation.
  const { buildArtefacts } = await import('../../tests/deploy/artefacts/images.mjs');
  const ARTEFACTS_DIR = subfolder(folder, 'artefacts');
  console.log('Building the contents of the images');
  await buildArtefacts(ARTEFACTS_DIR, { env, signal: stop.signal });
  return { ARTEFACTS_DIR };
}

/** The access table, and a tour from plants to webhooks. */
const QUICK = '/(security/access|plants|orders|stream|webhooks)\\.spec';
/** Repeats what other load disturbed, so it comes last. */
const COST = '/fuzz/cost\\.spec';

/** Acceptance tests that look only at their own plants and orders, or start a shop of their own. They mostly wait, so two run at a time. */
const SIDE_BY_SIDE = 'acceptance/src/(client/(calls|events|examples|readme|seeded-bugs)|tracing/tracing)\\.spec';

/** @param {StepContext} context @param {Record<string, string>} [variables] additional ones for the shop */
async function acceptance(context, variables = {}) {
  const shop = await startShop(context, variables);
  const run = (/** @type {string} */ name, /** @type {string[]} */ ...args) => jest(context, name, ['--config', 'tests/acceptance/jest.config.js', ...args], shop.env);
  const all = async () =>
    together([
      await run('acceptance-side-by-side', '--maxWorkers=2', '--testPathPatterns', SIDE_BY_SIDE),
      await run('acceptance', '--runInBand', '--testPathIgnorePatterns', SIDE_BY_SIDE),
    ]);
  const quick = async () => together([await run('acceptance', '--runInBand', ...withoutSlow(context), '--testPathPatterns', QUICK), await run('acceptance-cost', '--runInBand', '--testPathPatterns', COST)]);
  const { files, isQuick, jestArgs } = context;
  const tally = await (files ? run('acceptance', ...onlyFiles(files)) : isQuick ? quick() : jestArgs.length > 0 ? run('acceptance', '--runInBand', ...jestArgs) : all());
  if (tally.failed > 0) console.log(`\nThe shop's log:\n${shop.lastLogLines().join('\n')}`);
  return tally;
}

/** Returns the arguments that run these files one after another. @param {readonly string[]} files */
const onlyFiles = (files) => ['--runInBand', '--runTestsByPath', ...files];
