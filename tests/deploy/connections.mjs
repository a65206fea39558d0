import { ofKind, podOf } from './policies.mjs';

// Compares the connections that all clients of a database may open with its limit.

/** @typedef {import('./render.mjs').Manifest} Manifest */

/** Maximum duration of a graceful shutdown (libs/platform/src/service/service.ts), in seconds. */
const SHUTDOWN_S = 13;

/** The connection, outside the pool, on which a replica checks for stalls (libs/platform/src/postgres/stall-watch.ts). */
const BESIDE_POOL = 1;

/**
 * Connections of other clients: three that Postgres reserves for superusers, a migration Job, a command such as `set-role`, the
 * operator's probes and metrics, and psql.
 */
export const RESERVED = 12;

/**
 * Returns the maximum number of concurrent pods of a Deployment: the autoscaler's maximum, the surge of a release, and pods that are
 * terminating. A release replaces at most one pod every `minReadySeconds`, and a pod keeps its connections until it has terminated.
 * @param {Manifest} deployment @param {Manifest} autoscaler
 */
export function mostPods(deployment, autoscaler) {
  const { minReadySeconds, strategy } = deployment['spec'];
  const pauseS = Number(podOf(deployment).spec.containers[0].lifecycle.preStop.exec.command[1]);
  const ending = Math.ceil((pauseS + SHUTDOWN_S) / minReadySeconds);
  return autoscaler['spec'].maxReplicas + strategy.rollingUpdate.maxSurge + ending;
}

/**
 * Returns the connections that the pods of some manifests and all other clients may open together.
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
