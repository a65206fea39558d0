import { broadcasts } from '@plant-shop/contracts/broker';
import { identity } from '@plant-shop/contracts/identity';
import type { Logger } from '@plant-shop/platform/logging';
import type { RpcClient } from '@plant-shop/platform/rpc/client';
import { RpcContext } from '@plant-shop/platform/rpc/context';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { gauge } from '@plant-shop/platform/service/metrics';
import type { Service } from '@plant-shop/platform/service/service';
import { RevocationLog } from './revocation-log.js';

/** Returns identity's revocation log, pulled by RPC. */
export const revocationLogOf = (rpc: RpcClient, logger: Logger): RevocationLog =>
  new RevocationLog(
    (position, limitMs) => rpc.call(identity.readRevocations, position, new RpcContext('revocations', Deadline.in(limitMs))),
    logger,
  );

/**
 * How long a new process waits for the log before it reports ready. Until it has read the log it can only refuse requests with
 * credentials. If identity is down, it becomes ready anyway, for requests without.
 */
const firstReadLimitMs = 3_000;

/**
 * Connects the log, a provider of the service's app, to the service: nudges, its age as a metric, and readiness. The service becomes
 * ready once it has read the log, or after 3 s.
 */
export function followRevocations(service: Service, log: RevocationLog): void {
  const nudges = service.nats.listen(broadcasts.revocations.subject, () => log.nudge());
  gauge(service.metrics, 'revocation_log_age_seconds', 'Age of the last complete view of the revocation log', () =>
    Math.min(log.ageMs / 1_000, Number.MAX_SAFE_INTEGER),
  );
  let hasWaited = false;
  void log.waitUntilFresh(firstReadLimitMs).then(() => (hasWaited = true));
  service.readiness.require('revocations', () => {
    if (!hasWaited) throw new Error('revocation log not read yet');
  });
  service.onClose({ name: 'stop hearing of revocations', limitMs: 100, run: () => nudges.stop() });
}
