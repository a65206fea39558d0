import { affected, changedFiles } from '../changed/changed.mjs';
import { namedTests } from '../security/table.mjs';
import { StartError } from '../start/errors.mjs';
import { ROOT } from '../start/toolchain.mjs';

/**
 * Steps run one after another, each with as many files at a time as it waits for servers. The chaos run is last: it measures how long
 * recoveries take.
 */
const STEPS = /** @type {const} */ (['lint', 'tools', 'deploy', 'unit', 'acceptance', 'console', 'artefacts', 'chaos']);

/** What a change usually breaks. */
const QUICK_STEPS = /** @type {const} */ (['lint', 'tools', 'unit', 'acceptance', 'console']);

/**
 * The steps in their order, those in one list at a time. Of a quick run, the few files for whole shops leave half of two cores idle: they run
 * beside each other.
 * @param {Pick<Options, 'isQuick' | 'steps'>} options @returns {(readonly StepName[])[]}
 */
export function sideBySide({ isQuick = false, steps }) {
  const ofShops = isQuick ? ['acceptance', 'console'] : [];
  const alone = steps.filter((name) => !ofShops.includes(name)).map((name) => [name]);
  return isQuick ? [...alone, steps.filter((name) => ofShops.includes(name))] : alone;
}

/** What a quick run leaves out, for its last lines. */
export const LEFT_OUT = `Left out: tests that kill, cut off or fill up services (*.crash.int-spec.ts, *.slow.int-spec.ts), those whose names say (slow), which CI
runs, the acceptance and console tests but for the access table, one tour and the cost of requests, ${STEPS.filter((name) => !QUICK_STEPS.some((one) => one === name)).join(', ')}. Everything, as at night: npm test -- --all`;

/** Steps that take too long for every run. */
const LONG_STEPS = /** @type {const} */ (['artefacts-acceptance', 'artefacts-nightly', 'adjacent']);

/**
 * @typedef {object} Options
 * @property {boolean} [help]
 * @property {boolean} [isQuick] leaves out tests within steps, too
 * @property {readonly StepName[]} steps
 * @property {string[]} jestArgs
 * @property {readonly string[]} packages whose unit tests run; empty: all
 */

/** @typedef {typeof STEPS[number] | typeof LONG_STEPS[number]} StepName */

export const usage = `Builds, then runs checks.

  npm test                               what a change usually breaks, as in CI
  npm test -- --all                      everything, as at night
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
  if (first === '--help' || first === '-h') return { help: true, steps: [], jestArgs: [], packages: [] };
  if (first === undefined) return { isQuick: true, steps: QUICK_STEPS, jestArgs: [], packages: [] };
  if (first === '--all' && only === undefined) return { steps: STEPS, jestArgs: [], packages: [] };
  if (first === '--security' && only === undefined) {
    return { steps: ['tools', 'unit', 'acceptance'], jestArgs: namedTests().filter((file) => file.endsWith('.ts')), packages: [] };
  }
  if (first === '--since' && only !== undefined && rest.length === 0) {
    const files = changedFiles(ROOT, only);
    const { steps, packages } = (files && affected(ROOT, files)) ?? { steps: STEPS, packages: [] };
    return { steps: STEPS.filter((step) => steps.includes(step)), jestArgs: [], packages };
  }
  const step = [...STEPS, ...LONG_STEPS].find((name) => name === only);
  if (first !== '--only' || step === undefined) throw new StartError(usage);
  return { steps: [step], jestArgs: rest, packages: [] };
}
