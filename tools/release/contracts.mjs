// What clients rely on: today's OpenAPI and AsyncAPI documents compared with those of their owners' last releases, by Redocly's
// `diff` (docs/decisions/public-contracts.md says why this tool, and what it does not see).
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pinnedNode, ROOT } from '../start/toolchain.mjs';

const cli = join(ROOT, 'tests/acceptance/node_modules/@redocly/cli/bin/cli.js');

/** No requests to the network: no telemetry, no check for updates. */
const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', REDOCLY_SUPPRESS_NOTIFICATIONS: 'true' };

/**
 * @param {string} released @param {string} today files
 * @returns {Promise<string[]>} what breaks clients of the released document, each as `<JSON pointer>: <what>`
 */
export async function breakingChanges(released, today) {
  const args = [cli, 'diff', released, today, '--format', 'json', '--fail-on', 'none'];
  const { stdout } = await promisify(execFile)(pinnedNode(), args, { cwd: ROOT, env: { ...process.env, ...quiet }, maxBuffer: 64 * 1024 * 1024 });
  const { changes } = /** @type {{ changes: Change[] }} */ (JSON.parse(stdout));
  const breaking = changes.filter(({ impact }) => impact === 'major');
  const found = breaking.flatMap(({ verdicts }) => verdicts.map(({ location, message }) => `${location.pointer}: ${message}`));
  return found.filter((change) => !newProblemCode.test(change));
}

/** Clients go by the status when they do not know a code (docs/api/deprecation.md), so its list may grow. The tool knows closed lists only. */
const newProblemCode = /^#\/components\/(schemas\/Problem|responses\/[^/]+\/content\/[^/]+\/schema)\/properties\/code\/enum: .* gained values/;

/** @typedef {{ impact: 'major' | 'minor' | 'patch', verdicts: { message: string, location: { pointer: string } }[] }} Change */

/**
 * @param {readonly string[]} changes @param {Readonly<Record<string, string>>} wanted
 * @returns {{ unwanted: string[], stale: string[] }} `stale`: wanted, but no change of today
 */
export const judge = (changes, wanted) => ({
  unwanted: changes.filter((change) => !wanted[change]),
  stale: Object.keys(wanted).filter((change) => change.startsWith('#/') && !changes.includes(change)),
});
