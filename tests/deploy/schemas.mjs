import * as argo from '@kubernetes-models/argo-cd/argoproj.io/v1alpha1';
import * as certificates from '@kubernetes-models/cert-manager/cert-manager.io/v1';
import { BarmanObjectStoreConfiguration } from '@kubernetes-models/cloudnative-pg/github.com/cloudnative-pg/barman-cloud/pkg/api';
import * as databases from '@kubernetes-models/cloudnative-pg/postgresql.cnpg.io/v1';
import * as externalSecrets from '@kubernetes-models/external-secrets/external-secrets.io/v1';
import * as flux from '@kubernetes-models/flux-cd/kustomize.toolkit.fluxcd.io/v1';
import * as fluxSources from '@kubernetes-models/flux-cd/source.toolkit.fluxcd.io/v1';
import * as gateways from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1';
import * as keda from '@kubernetes-models/keda/keda.sh/v1alpha1';
import * as monitoring from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import * as apps from 'kubernetes-models/apps/v1';
import * as autoscaling from 'kubernetes-models/autoscaling/v2';
import * as batch from 'kubernetes-models/batch/v1';
import * as networking from 'kubernetes-models/networking.k8s.io/v1';
import * as policy from 'kubernetes-models/policy/v1';
import * as scheduling from 'kubernetes-models/scheduling.k8s.io/v1';
import * as core from 'kubernetes-models/v1';

/**
 * CloudNativePG's plug-in has no published schema; its configuration is that of the operator's own backups.
 * @this {any}
 */
function validateStore() {
  BarmanObjectStoreConfiguration.prototype.validate.call(this.spec.configuration);
  if (!/^[1-9]\d*[dwm]$/.test(this.spec.retentionPolicy)) throw new Error('retentionPolicy is not a time');
  JSON.stringify([this.apiVersion, this.kind, this.metadata]);
}

/**
 * The published schemas are older than the lease of the primary (CloudNativePG 1.30).
 * @this {any}
 */
function validateCluster() {
  const { primaryLease, ...spec } = this.spec;
  for (const [name, value] of Object.entries(primaryLease ?? {})) if (!/^(leaseDuration|renewDeadline|retryPeriod)Seconds$/.test(name) || !Number.isInteger(value)) throw new Error(`primaryLease.${name} is not a field`);
  databases.Cluster.prototype.validate.call({ ...this, spec });
}

/** @type {Record<string, any>} */
const models = {
  'argoproj.io/v1alpha1': argo,
  'barmancloud.cnpg.io/v1': { ObjectStore: { prototype: { validate: validateStore } } },
  'cert-manager.io/v1': certificates,
  'external-secrets.io/v1': externalSecrets,
  'gateway.networking.k8s.io/v1': gateways,
  'keda.sh/v1alpha1': keda,
  'kustomize.toolkit.fluxcd.io/v1': flux,
  'monitoring.coreos.com/v1': monitoring,
  'scheduling.k8s.io/v1': scheduling,
  'source.toolkit.fluxcd.io/v1': fluxSources,
  v1: core,
  'apps/v1': apps,
  'autoscaling/v2': autoscaling,
  'batch/v1': batch,
  'networking.k8s.io/v1': networking,
  'policy/v1': policy,
  'postgresql.cnpg.io/v1': { ...databases, Cluster: { prototype: { validate: validateCluster } } },
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
