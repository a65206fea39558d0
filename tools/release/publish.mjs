// Commands of .github/workflows/release.yml.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../start/errors.mjs';
import { SERVICES } from '../start/services.mjs';
import { ROOT } from '../start/toolchain.mjs';
import { readRelease, sectionOf, tagOf } from './releases.mjs';

/**
 * @param {string} tag
 * @returns {{ service: import('../start/services.mjs').ServiceName, version: string, notes: string }}
 * @throws StartError unless the commit is the one that `npm run freeze` wrote for this tag
 */
export function releaseOf(tag) {
  const [name, version = ''] = tag.split('@');
  const service = SERVICES.find((one) => one === name);
  if (!service) throw new StartError(`${tag} does not name a service.`);
  const { release } = readRelease(service);
  const manifest = JSON.parse(readFileSync(join(ROOT, 'apps', service, 'package.json'), 'utf8'));
  const notes = sectionOf(readFileSync(join(ROOT, 'apps', service, 'CHANGELOG.md'), 'utf8'), version);
  if (tagOf(service, version) !== tag || release !== tag || manifest.version !== version || !notes) {
    throw new StartError(`This commit is not ${tag}: releases/${service}.json says ${release}, package.json ${manifest.version}. Tag the commit of npm run freeze -- ${service} <version>.`);
  }
  return { service, version, notes };
}

/**
 * Writes an image into the production overlay of a service or the console, and into its Jobs; names the migration's Job by it.
 * @param {import('../start/services.mjs').ServiceName | 'console'} part @param {string} image without tag and digest @param {string} digest
 */
export function deployImage(part, image, digest, root = ROOT) {
  const folder = join(root, 'deploy', part);
  const change = (/** @type {string} */ path, /** @type {(text: string) => string} */ edit) => {
    const file = join(folder, path, 'kustomization.yaml');
    if (existsSync(file)) writeFileSync(file, edit(readFileSync(file, 'utf8')));
  };
  for (const path of ['overlays/production', 'reconcile']) change(path, (text) => withImage(text, part, image, digest));
  change('migration', (text) => text.replace(/^nameSuffix: .*$/m, `nameSuffix: '${suffixOf(digest)}'`));
}

/** Returns how the name of a release's migration Job ends. @param {string} digest */
const suffixOf = (digest) => `-${digest.replace('sha256:', '').slice(0, 12)}`;

/** @param {string} overlay @param {string} service @param {string} image @param {string} digest @returns {string} */
export function withImage(overlay, service, image, digest) {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new StartError(`${digest} is not a digest.`);
  if (!/^[a-z0-9.-]+(:\d+)?(\/[a-z0-9._-]+)+$/.test(image)) throw new StartError(`${image} is not an image name.`);
  const entry = new RegExp(`(- name: plant-shop/${service}\\n +newName: )\\S+(\\n +digest: )\\S+`);
  if (!entry.test(overlay)) throw new StartError(`The overlay of ${service} does not name its own image with newName and digest.`);
  return overlay.replace(entry, `$1${image}$2${digest}`);
}
