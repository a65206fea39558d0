import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { SERVICES } from '../../tools/start/services.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';

export { SERVICES };
export const OVERLAYS = /** @type {const} */ (['dev', 'sandbox', 'production']);
/** Roles of notifications whose replicas can be released separately. */
export const ROLES = /** @type {const} */ (['stream', 'webhooks', 'mail', 'export']);

/** @typedef {import('../../tools/start/services.mjs').ServiceName} ServiceName */
/** @typedef {typeof OVERLAYS[number] | `production-${typeof ROLES[number]}`} Overlay */

/** @param {string} path from the root of the repository */
export const textOf = (path) => readFileSync(join(ROOT, path), 'utf8');

/**
 * @param {string} path a YAML file; anchors and merge keys are resolved
 * @returns {any} its first document
 */
export const yamlOf = (path) => parseAllDocuments(textOf(path), { merge: true })[0]?.toJS();

/**
 * Returns a service's ConfigMap from its kustomizations; manifests.test.mjs checks that rendering yields the same.
 * @param {ServiceName} service
 * @param {Overlay} overlay
 * @returns {Record<string, string>}
 */
export function configMapOf(service, overlay) {
  const folders = ['base', ...(overlay.startsWith('production-') || overlay === 'sandbox' ? ['overlays/production'] : []), `overlays/${overlay}`];
  const literals = folders.flatMap(
    (folder) => yamlOf(`deploy/${service}/${folder}/kustomization.yaml`).configMapGenerator[0].literals,
  );
  return Object.fromEntries(literals.map((/** @type {string} */ literal) => [literal.slice(0, literal.indexOf('=')), literal.slice(literal.indexOf('=') + 1)]));
}
