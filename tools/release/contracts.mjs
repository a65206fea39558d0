// Compares today's OpenAPI and AsyncAPI documents with those of their owners' last releases, by Redocly's `diff`. For the reasons
// and what it misses, see docs/decisions/public-api.md.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pinnedNode, ROOT } from '../start/toolchain.mjs';

const cli = join(ROOT, 'tests/acceptance/node_modules/@redocly/cli/bin/cli.js');

/** Disables telemetry and update checks. */
const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', REDOCLY_SUPPRESS_NOTIFICATIONS: 'true' };

/**
 * @param {string} released @param {string} today files
 * @returns {Promise<string[]>} changes that break clients of the released document, as `<JSON pointer>: <change>`
 */
export async function breakingChanges(released, today) {
  const args = [cli, 'diff', released, today, '--format', 'json', '--fail-on', 'none'];
  const { stdout } = await promisify(execFile)(pinnedNode(), args, { cwd: ROOT, env: { ...process.env, ...quiet }, maxBuffer: 64 * 1024 * 1024 });
  const { changes } = /** @type {{ changes: Change[] }} */ (JSON.parse(stdout));
  const breaking = changes.filter(({ impact }) => impact === 'major');
  const found = breaking.flatMap(({ verdicts }) => verdicts.map(({ location, message }) => `${location.pointer}: ${message}`));
  return found.filter((change) => !newProblemCode.test(change));
}

/** New problem codes are compatible, since clients fall back to the status (docs/api/deprecation.md). The tool knows only closed lists. */
const newProblemCode = /^#\/components\/(schemas\/Problem|responses\/[^/]+\/content\/[^/]+\/schema(\/(allOf|oneOf|anyOf)\/\d+)*)\/properties\/code\/enum: .* gained values/;

/** @typedef {{ impact: 'major' | 'minor' | 'patch', verdicts: { message: string, location: { pointer: string } }[] }} Change */

/**
 * @param {readonly string[]} changes @param {Readonly<Record<string, string>>} wanted
 * @returns {{ unwanted: string[], stale: string[] }} `stale`: listed as wanted, but not a change today
 */
export const judge = (changes, wanted) => ({
  unwanted: changes.filter((change) => !wanted[change]),
  stale: Object.keys(wanted).filter((change) => change.startsWith('#/') && !changes.includes(change)),
});
