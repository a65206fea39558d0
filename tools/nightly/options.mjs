import { parseArgs } from 'node:util';
import { StartError } from '../start/errors.mjs';

/**
 * Arguments for Node.
 * @typedef {{ args: string[] }} Command
 * @typedef {{ seed: number, minutes: string }} Choice
 */

/** @type {Record<string, (choice: Choice) => Command>} */
const PARTS = {
  all: () => ({ args: ['tools/test/main.mjs', '--all'] }),
  chaos: ({ seed, minutes }) => ({ args: ['tests/chaos/main.mjs', '--seed', `${seed}`, '--minutes', minutes] }),
  prove: ({ seed }) => ({ args: ['tests/chaos/main.mjs', '--prove', '--seed', `${seed}`] }),
  fuzz: ({ seed }) => ({ args: ['tools/fuzz/main.mjs', '--seed', `${seed}`] }),
  cost: () => ({ args: ['tools/fuzz/main.mjs', '--cost'] }),
  'acceptance-nightly': () => ({ args: ['tools/test/main.mjs', '--only', 'acceptance', '--testMatch', '**/*.nightly.ts'] }),
  'artefacts-nightly': () => ({ args: ['tools/test/main.mjs', '--only', 'artefacts-nightly'] }),
  artefacts: () => ({ args: ['tools/test/main.mjs', '--only', 'artefacts-acceptance'] }),
  adjacent: () => ({ args: ['tools/test/main.mjs', '--only', 'adjacent'] }),
};

export const PART_NAMES = Object.keys(PARTS);

export const usage = `Runs the checks that take too long for every build.

  npm run nightly                          ${PART_NAMES.join(', ')}
  npm run nightly -- --only chaos,fuzz     only these
  npm run nightly -- --seed 20260501       another day's seed; default: today's date
  npm run nightly -- --minutes 10          duration of chaos; default: 30`;

/**
 * @param {string[]} args
 * @param {Date} now
 * @returns {{ help: boolean, seed: number, parts: [name: string, command: Command][] }}
 */
export function parseOptions(args, now) {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      seed: { type: 'string', default: now.toISOString().slice(0, 10).replaceAll('-', '') },
      minutes: { type: 'string', default: '30' },
      help: { type: 'boolean', default: false },
    },
  });
  const seed = Number(values.seed);
  const names = values.only?.split(',') ?? PART_NAMES;
  const unknown = names.filter((name) => !PART_NAMES.includes(name));
  if (unknown.length > 0) throw new StartError(`Not a nightly check: ${unknown.join(', ')}.\n\n${usage}`);
  if (!Number.isSafeInteger(seed) || !(Number(values.minutes) > 0)) throw new StartError(usage);
  const parts = names.map((name) => /** @type {[string, Command]} */ ([name, PARTS[name]?.({ seed, minutes: values.minutes })]));
  return { help: values.help, seed, parts };
}
