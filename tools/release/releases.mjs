// The last release of each service: sample messages, migrations and public document. Services are deployed alone, so today's code
// must work with it: callers of the last release keep running, and migrations run beside its processes.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../start/errors.mjs';
import { ROOT } from '../start/toolchain.mjs';

/** @typedef {import('../start/services.mjs').ServiceName} ServiceName */

/**
 * `releases/<service>.json`
 * @typedef {object} Release
 * @property {string} release the tag `<service>@<version>`; empty: there was none yet
 * @property {Record<string, string>} wanted intended breaking changes since then, with their reasons
 * @property {Record<string, string>} migrations digests by file name
 * @property {Record<string, object>} samples by operation
 */

/** The public documents, with their owners. */
export const documents = /** @type {const} */ ({ gateway: 'openapi.json', notifications: 'asyncapi.json' });

/** @param {ServiceName} service @param {string} [root] */
export const documentOf = (service, root = ROOT) => {
  const name = service in documents ? documents[/** @type {keyof typeof documents} */ (service)] : undefined;
  return name === undefined ? undefined : { today: join(root, 'docs/api', name), released: join(root, 'releases', `${service}.${name}`), name };
};

/** @param {ServiceName} service @param {string} root */
const fileOf = (service, root) => join(root, 'releases', `${service}.json`);

/** Returns a service's last release; without one, an empty `release`, which nothing needs to be compatible with. @param {ServiceName} service @param {string} [root] @returns {Release} */
export const readRelease = (service, root = ROOT) =>
  existsSync(fileOf(service, root)) ? JSON.parse(readFileSync(fileOf(service, root), 'utf8')) : { release: '', wanted: {}, migrations: {}, samples: {} };

/** @param {ServiceName} service @param {string} [root] @returns {{ file: string, sql: string }[]} current ones */
export function migrationsOf(service, root = ROOT) {
  const folder = join(root, 'apps', service, 'migrations');
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql')).sort();
  return files.map((file) => ({ file, sql: readFileSync(join(folder, file), 'utf8') }));
}

/** @param {string} sql */
export const digestOf = (sql) => createHash('sha256').update(sql).digest('hex');

/**
 * Makes today's state of a service its last release: sets the version, closes the changelog's section, and records samples,
 * migrations and document. Touches no other service.
 * @param {ServiceName} service @param {string} version @param {{ root?: string, date?: string }} [options]
 * @returns {string} the tag for the commit with these changes
 */
export function freeze(service, version, { root = ROOT, date = new Date().toISOString().slice(0, 10) } = {}) {
  const manifestFile = join(root, 'apps', service, 'package.json');
  const changelogFile = join(root, 'apps', service, 'CHANGELOG.md');
  const manifest = readFileSync(manifestFile, 'utf8');
  const last = readRelease(service, root);
  checkFollows(version, last.release);
  const samplesFile = join(root, 'libs/contracts/samples', `${service}.json`);
  const samples = existsSync(samplesFile) ? JSON.parse(readFileSync(samplesFile, 'utf8')) : {};
  const added = last.release === '' ? undefined : newOperations(samples, last.samples, root);
  const changelog = closeSection(withEntry(readFileSync(changelogFile, 'utf8'), added), version, date);

  writeFileSync(changelogFile, changelog);
  writeFileSync(manifestFile, manifest.replace(/^ {2}"version": ".*"/m, `  "version": "${version}"`));
  const tag = tagOf(service, version);
  /** @type {Release} */
  const release = {
    release: tag,
    wanted: {},
    migrations: Object.fromEntries(migrationsOf(service, root).map(({ file, sql }) => [file, digestOf(sql)])),
    samples,
  };
  mkdirSync(join(root, 'releases'), { recursive: true });
  writeFileSync(fileOf(service, root), `${JSON.stringify(release, null, 2)}\n`);
  const document = documentOf(service, root);
  if (document) writeFileSync(document.released, readFileSync(document.today));
  return tag;
}

/**
 * Returns the changelog's entry about operations that clients could not call in the last release.
 * @param {Record<string, object>} samples @param {Record<string, object>} released @param {string} root
 */
function newOperations(samples, released, root) {
  const { paths = {} } = JSON.parse(readFileSync(join(root, 'docs/api', documents.gateway), 'utf8'));
  /** @type {{ operationId?: string, summary?: string }[]} */
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const added = operations.filter(({ operationId = '' }) => operationId in samples && !(operationId in released));
  return added.length === 0 ? undefined : `- New operations: ${added.map(({ operationId, summary }) => `\`${operationId}\` (${summary})`).join(', ')}.`;
}

/** @param {string} changelog @param {string | undefined} entry */
function withEntry(changelog, entry) {
  if (entry === undefined) return changelog;
  const [before = '', section = '', ...released] = changelog.split(/^(?=## )/m);
  return [before, `${section.trimEnd()}\n${entry}\n\n`, ...released].join('').trimEnd() + '\n';
}

/** @param {ServiceName} service @param {string} version */
export const tagOf = (service, version) => `${service}@${version}`;

/** @param {string} version @param {string} last @throws StartError if it is not a version or does not follow the last one */
function checkFollows(version, last) {
  const numbers = numbersOf(version);
  if (!numbers) throw new StartError(`A version is three numbers, as in 1.4.0; ${version} is not.`);
  const before = numbersOf(last.split('@')[1] ?? '');
  if (!before) return;
  const first = numbers.findIndex((number, n) => number !== before[n]);
  if (first === -1 || (numbers[first] ?? 0) < (before[first] ?? 0)) throw new StartError(`${version} does not follow ${last}.`);
}

/** @param {string} version */
const numbersOf = (version) => (/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.test(version) ? version.split('.').map(Number) : undefined);

const UNRELEASED = '## Unreleased\n';

/** @param {string} changelog @param {string} version @param {string} date @throws StartError if the changelog has no entries */
function closeSection(changelog, version, date) {
  const section = sectionOf(changelog, 'Unreleased');
  if (section === undefined || section === '') throw new StartError('CHANGELOG.md has no entries under "## Unreleased": describe what operators notice.');
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n## ${version} (${date})\n`);
}

/**
 * Returns the entries of one version.
 * @param {string} changelog @param {string} version
 */
export function sectionOf(changelog, version) {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((one) => one.startsWith(`${version}\n`) || one.startsWith(`${version} `));
  return section?.slice(section.indexOf('\n')).trim();
}
