import { ofKind, podOf } from './policies.mjs';

// How many connections a database may be asked for, against what it allows.

/** @typedef {import('./render.mjs').Manifest} Manifest */

/** From SIGTERM to the end of a process that ends in order (libs/platform/src/service/service.ts), in seconds. */
const SHUTDOWN_S = 13;

/** Beside its pool, a replica asks the server about silent connections on one of its own (libs/platform/src/postgres/stall-watch.ts). */
const BESIDE_POOL = 1;

/**
 * For everybody who is no replica: three that Postgres keeps for superusers, a migration Job, a command such as `set-role`, the operator's
 * probes and metrics, and a person with psql.
 */
export const RESERVED = 12;

/**
 * The most pods of a Deployment at one time: the autoscaler's maximum, the surge of a release, and those that are ending meanwhile. A
 * release replaces a pod every `minReadySeconds` at the fastest, and each keeps its connections until it has ended.
 * @param {Manifest} deployment @param {Manifest} autoscaler
 */
export function mostPods(deployment, autoscaler) {
  const { minReadySeconds, strategy } = deployment['spec'];
  const pauseS = Number(podOf(deployment).spec.containers[0].lifecycle.preStop.exec.command[1]);
  const ending = Math.ceil((pauseS + SHUTDOWN_S) / minReadySeconds);
  return autoscaler['spec'].maxReplicas + strategy.rollingUpdate.maxSurge + ending;
}

/**
 * The connections that all pods of some manifests may open together, and those of everybody else.
 * @param {Manifest[]} manifests @param {(config: Record<string, string>) => number} poolSizeOf
 */
export function mostConnections(manifests, poolSizeOf) {
  const each = ofKind(manifests, 'Deployment').map((deployment) => {
    const autoscaler = ofKind(manifests, 'HorizontalPodAutoscaler').find((one) => one['spec'].scaleTargetRef.name === deployment.metadata.name);
    const settings = podOf(deployment).spec.containers[0].envFrom[0].configMapRef.name;
    const config = ofKind(manifests, 'ConfigMap').find(({ metadata }) => metadata.name === settings);
    if (!autoscaler || !config) throw new Error(`${deployment.metadata.name} has no autoscaler or no settings`);
    return mostPods(deployment, autoscaler) * (poolSizeOf(config['data']) + BESIDE_POOL);
  });
  return each.reduce((sum, one) => sum + one, RESERVED);
}

/** @param {Manifest[]} databases @param {string} service @returns {number} */
export const allowedConnections = (databases, service) =>
  Number(ofKind(databases, 'Cluster').find(({ metadata }) => metadata.name === `${service}-db`)?.['spec'].postgresql.parameters.max_connections);
