import { affected, changedFiles } from '../changed/changed.mjs';
import { namedTests } from '../security/table.mjs';
import { StartError } from '../start/errors.mjs';
import { ROOT } from '../start/toolchain.mjs';

/**
 * Lanes run concurrently; the steps of a lane run one after another. Two lanes keep two cores busy, because most steps also wait; three are
 * slower, and tests exceed their limits. Both take about as long. The first lane prints as it runs, and begins with lint, which takes
 * seconds. The unit tests come last, since they wait least: alone, they keep both cores busy. Console tests leave more time to the first
 * steps, some of which measure time.
 */
const LANES = /** @type {const} */ ([['lint', 'tools', 'artefacts', 'acceptance'], ['console', 'unit']]);

/** Short steps for the lane that ends first. */
const LAST = /** @type {const} */ (['deploy']);

/** Runs alone after the lanes: it measures how long recoveries take. */
const ALONE = /** @type {const} */ (['chaos']);

const STEPS = [...LANES.flat(), ...LAST, ...ALONE];

/** What a change usually breaks, in five minutes on two quiet cores. The unit tests take about as long as the other steps together. */
const QUICK_LANES = /** @type {const} */ ([['lint', 'tools', 'acceptance', 'console'], ['unit']]);

/** What a quick run leaves out, for its last lines. */
export const LEFT_OUT = `Left out: tests that kill, cut off or fill up services (*.crash.int-spec.ts, *.slow.int-spec.ts), the acceptance and console tests but
for the access table and one tour, ${['artefacts', ...LAST, ...ALONE].join(', ')}. Everything, as in CI: npm test -- --all`;

/** Steps that take too long for every run. */
const LONG_STEPS = /** @type {const} */ (['artefacts-acceptance', 'artefacts-nightly', 'adjacent']);

/**
 * @typedef {object} Options
 * @property {boolean} [help]
 * @property {boolean} [isQuick] leaves out tests within steps, too
 * @property {readonly (readonly StepName[])[]} lanes
 * @property {readonly StepName[]} [last] steps that the next free lane runs
 * @property {readonly StepName[]} [alone] steps that run after the lanes, one at a time
 * @property {string[]} jestArgs
 * @property {readonly string[]} packages whose unit tests run; empty: all
 */

/** @typedef {typeof STEPS[number] | typeof LONG_STEPS[number]} StepName */

export const usage = `Builds, then runs checks.

  npm test                               what a change usually breaks, in about five minutes
  npm test -- --all                      everything, as in CI
  npm test -- --only unit             one of ${STEPS.join(', ')}; builds first
  npm test -- --only unit -t oversell    the rest is passed to Jest
  npm test -- --since origin/main        only what the changes since a commit can break
  npm run security                       the tests that docs/security.md names, with counts
  npm run nightly                        checks that take too long for every build
  npm run artefacts                      the acceptance tests on the contents of the images
  npm run adjacent -- store              the store's last release with today's other services`;

/**
 * @param {string[]} args
 * @returns {Options}
 */
export function parseOptions(args) {
  const [first, only, ...rest] = args;
  if (first === '--help' || first === '-h') return { help: true, lanes: [], jestArgs: [], packages: [] };
  if (first === undefined) return { isQuick: true, lanes: QUICK_LANES, jestArgs: [], packages: [] };
  if (first === '--all' && only === undefined) return { lanes: LANES, last: LAST, alone: ALONE, jestArgs: [], packages: [] };
  if (first === '--security' && only === undefined) {
    return { lanes: [['tools', 'unit', 'acceptance']], jestArgs: namedTests().filter((file) => file.endsWith('.ts')), packages: [] };
  }
  if (first === '--since' && only !== undefined && rest.length === 0) {
    const files = changedFiles(ROOT, only);
    const { steps, packages } = (files && affected(ROOT, files)) ?? { steps: STEPS, packages: [] };
    const wanted = (/** @type {readonly StepName[]} */ all) => all.filter((step) => steps.includes(step));
    return { lanes: LANES.map(wanted), last: wanted(LAST), alone: wanted(ALONE), jestArgs: [], packages };
  }
  const step = [...STEPS, ...LONG_STEPS].find((name) => name === only);
  if (first !== '--only' || step === undefined) throw new StartError(usage);
  return { lanes: [[step]], jestArgs: rest, packages: [] };
}
