import { identity, revocationsSubject } from '@plant-shop/contracts/identity';
import type { Logger } from '@plant-shop/platform/logging';
import type { RpcClient } from '@plant-shop/platform/rpc/client';
import { RpcContext } from '@plant-shop/platform/rpc/context';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { gauge } from '@plant-shop/platform/service/metrics';
import type { Service } from '@plant-shop/platform/service/service';
import { freshForMs, RevocationLog } from './revocation-log.js';

/** Identity's log, over NATS. A pull that takes longer than an answer is fresh could not make anything fresh. */
export const revocationLogOf = (rpc: RpcClient, logger: Logger): RevocationLog =>
  new RevocationLog(
    (after) => rpc.call(identity.readRevocations, { after }, new RpcContext('revocations', Deadline.in(freshForMs))),
    logger,
  );

/** Follows the log for as long as the service runs. */
export function followRevocations(service: Service, log: RevocationLog): void {
  const nudges = service.nats.listen(revocationsSubject, () => log.nudge());
  gauge(service.metrics, 'revocation_log_age_seconds', 'Since the revocation log was last seen whole', () =>
    Math.min(log.ageMs / 1_000, Number.MAX_SAFE_INTEGER),
  );
  log.start();
  service.onClose({
    name: 'stop following revocations',
    limitMs: 1_500,
    run: async () => {
      nudges.stop();
      await log.stop();
    },
  });
}
