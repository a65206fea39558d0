import { affected, changedFiles } from '../changed/changed.mjs';
import { namedTests } from '../security/table.mjs';
import { StartError } from '../start/errors.mjs';
import { ROOT } from '../start/toolchain.mjs';

/** The steps of a stage run concurrently; stages run one after another. */
const STAGES = /** @type {const} */ ([['tools', 'artefacts'], ['unit'], ['acceptance', 'chaos'], ['deploy', 'console']]);

/** Runs beside all stages, at the lowest priority: it only computes, so it takes the processor time that the others leave while they wait. */
const BACKGROUND = 'lint';

const STEPS = [...STAGES.flat(), BACKGROUND];

/** Steps that take too long for every run. */
const LONG_STEPS = /** @type {const} */ (['artefacts-acceptance', 'artefacts-restarts', 'adjacent']);

/**
 * @typedef {object} Options
 * @property {boolean} [help]
 * @property {readonly (readonly StepName[])[]} stages
 * @property {StepName} [background] a step that runs beside all stages
 * @property {string[]} jestArgs
 * @property {readonly string[]} packages whose unit tests run; none: all
 */

/** @typedef {typeof STEPS[number] | typeof LONG_STEPS[number]} StepName */

export const usage = `Builds, then runs every check.

  npm test
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
  if (first === '--help' || first === '-h') return { help: true, stages: [], jestArgs: [], packages: [] };
  if (first === undefined) return { stages: STAGES, background: BACKGROUND, jestArgs: [], packages: [] };
  if (first === '--security' && only === undefined) {
    return { stages: [['tools'], ['unit'], ['acceptance']], jestArgs: namedTests().filter((file) => file.endsWith('.ts')), packages: [] };
  }
  if (first === '--since' && only !== undefined && rest.length === 0) {
    const files = changedFiles(ROOT, only);
    const { steps, packages } = (files && affected(ROOT, files)) ?? { steps: STEPS, packages: [] };
    const stages = STAGES.map((stage) => stage.filter((step) => steps.includes(step))).filter(({ length }) => length > 0);
    return { stages, ...(steps.includes(BACKGROUND) && { background: BACKGROUND }), jestArgs: [], packages };
  }
  const step = [...STEPS, ...LONG_STEPS].find((name) => name === only);
  if (first !== '--only' || step === undefined) throw new StartError(usage);
  return { stages: [[step]], jestArgs: rest, packages: [] };
}
