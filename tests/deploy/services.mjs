import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { SERVICES } from '../../tools/start/services.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';

export { SERVICES };
export const OVERLAYS = /** @type {const} */ (['dev', 'production']);
/** Of notifications: replicas that have one role each, which are released beside each other. */
export const ROLES = /** @type {const} */ (['stream', 'webhooks']);

/** @typedef {import('../../tools/start/services.mjs').ServiceName} ServiceName */
/** @typedef {typeof OVERLAYS[number] | `production-${typeof ROLES[number]}`} Overlay */

/** @param {string} path from the root of the repository */
export const textOf = (path) => readFileSync(join(ROOT, path), 'utf8');

/**
 * @param {string} path a YAML file, with anchors and merge keys as docker-compose.yml has them
 * @returns {any} its first document
 */
export const yamlOf = (path) => parseAllDocuments(textOf(path), { merge: true })[0]?.toJS();

/**
 * What a ConfigMap of a service holds, read from the kustomizations themselves; manifests.test.mjs sees that it is also what comes
 * out of them.
 * @param {ServiceName} service
 * @param {Overlay} overlay
 * @returns {Record<string, string>}
 */
export function configMapOf(service, overlay) {
  const folders = ['base', ...(overlay.startsWith('production-') ? ['overlays/production'] : []), `overlays/${overlay}`];
  const literals = folders.flatMap(
    (folder) => yamlOf(`deploy/${service}/${folder}/kustomization.yaml`).configMapGenerator[0].literals,
  );
  return Object.fromEntries(literals.map((/** @type {string} */ literal) => [literal.slice(0, literal.indexOf('=')), literal.slice(literal.indexOf('=') + 1)]));
}
