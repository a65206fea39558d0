import * as databases from '@kubernetes-models/cloudnative-pg/postgresql.cnpg.io/v1';
import * as apps from 'kubernetes-models/apps/v1';
import * as autoscaling from 'kubernetes-models/autoscaling/v2';
import * as batch from 'kubernetes-models/batch/v1';
import * as networking from 'kubernetes-models/networking.k8s.io/v1';
import * as policy from 'kubernetes-models/policy/v1';
import * as core from 'kubernetes-models/v1';

/** @type {Record<string, any>} */
const models = {
  v1: core,
  'apps/v1': apps,
  'autoscaling/v2': autoscaling,
  'batch/v1': batch,
  'networking.k8s.io/v1': networking,
  'policy/v1': policy,
  'postgresql.cnpg.io/v1': databases,
};

/**
 * Validates a manifest against the schemas of Kubernetes and its operators. Reports wrong, missing and, like an API server with
 * strict validation, unknown fields.
 * @param {import('./render.mjs').Manifest} manifest
 * @returns {string[]}
 */
export function schemaFaults(manifest) {
  const model = models[manifest['apiVersion']]?.[manifest.kind];
  if (model === undefined) return [`no schema for ${manifest['apiVersion']} ${manifest.kind}`];
  /** @type {Set<string>} */
  const seen = new Set();
  try {
    model.prototype.validate.call(watched(manifest, '', seen));
  } catch (error) {
    return [/** @type {Error} */ (error).message];
  }
  return pathsOf(manifest, '').filter((path) => !seen.has(path)).map((path) => `${path} is not a field`);
}

/**
 * Wraps a value to record the fields that the validator reads. The schemas ignore unknown fields, as the API does, but read every
 * known one, so a field that was never read is unknown.
 * @param {any} value @param {string} path @param {Set<string>} seen
 * @returns {any}
 */
function watched(value, path, seen) {
  if (value === null || typeof value !== 'object') return value;
  return new Proxy(value, {
    get: (target, key) => {
      const found = Reflect.get(target, key);
      if (typeof key !== 'string' || !Object.hasOwn(target, key)) return found;
      seen.add(`${path}/${key}`);
      return watched(found, `${path}/${key}`, seen);
    },
  });
}

/** @param {any} value @param {string} path @returns {string[]} */
function pathsOf(value, path) {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, inner]) => [`${path}/${key}`, ...pathsOf(inner, `${path}/${key}`)]);
}
