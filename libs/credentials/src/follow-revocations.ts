import { identity, revocationsSubject } from '@plant-shop/contracts/identity';
import type { Logger } from '@plant-shop/platform/logging';
import type { RpcClient } from '@plant-shop/platform/rpc/client';
import { RpcContext } from '@plant-shop/platform/rpc/context';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { gauge } from '@plant-shop/platform/service/metrics';
import type { Service } from '@plant-shop/platform/service/service';
import { RevocationLog } from './revocation-log.js';

/** Identity's log, over NATS. */
export const revocationLogOf = (rpc: RpcClient, logger: Logger): RevocationLog =>
  new RevocationLog(
    (place, limitMs) => rpc.call(identity.readRevocations, place, new RpcContext('revocations', Deadline.in(limitMs))),
    logger,
  );

/**
 * A process that has not seen the log yet could only refuse whoever comes with a credential, so it asks for no work before. Without
 * identity it is of use to those who come without one: then it waits no longer than this.
 */
const firstSightLimitMs = 3_000;

/** Follows the log for as long as the service runs, which is ready when it was seen once. */
export function followRevocations(service: Service, log: RevocationLog): void {
  const nudges = service.nats.listen(revocationsSubject, () => log.nudge());
  gauge(service.metrics, 'revocation_log_age_seconds', 'Since the revocation log was last seen whole', () =>
    Math.min(log.ageMs / 1_000, Number.MAX_SAFE_INTEGER),
  );
  log.start();
  let isSeen = false;
  void log.waitUntilFresh(firstSightLimitMs).then(() => (isSeen = true));
  service.readiness.require('revocations', () => {
    if (!isSeen) throw new Error('not seen yet');
  });
  service.onClose({
    name: 'stop following revocations',
    limitMs: 1_500,
    run: async () => {
      nudges.stop();
      await log.stop();
    },
  });
}
