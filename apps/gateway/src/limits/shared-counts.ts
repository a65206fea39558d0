import { randomBytes } from 'node:crypto';
import type { Nats } from '@plant-shop/platform/nats';
import type { ReplicaCounts, RateLimit } from './rate-limit.js';

/** Gateways among themselves; the accounts in deploy/nats/nats.conf let nobody else speak or listen there. */
const subject = 'gateway.counts';

const tellIntervalMs = 200;
/** Of about 25 bytes: a message stays far below the megabyte that NATS carries. */
const maxPerMessage = 4_000;
const maxMessages = 5;
/** Every five seconds, for those who were away or missed a message. */
const tellAgainEvery = 25;
const replicaForm = /^[\w-]{8}$/;
const hashForm = /^[\w-]{16}$/;

/**
 * Keeps the counts of all gateways together: each tells what it has counted a moment after it changed, and hears the
 * others. Nothing waits for it. Without NATS each counts alone, and tells what it has counted when NATS is back.
 * @returns the end of it
 */
export function shareCounts(nats: Pick<Nats, 'connection' | 'isUp' | 'listen'>, limit: RateLimit): { stop: () => void } {
  // Of this process: the counts of one that is gone are forgotten with their window.
  const replica = randomBytes(6).toString('base64url');
  const listener = nats.listen(subject, (message) => {
    const told = read(message.data);
    if (told && told.replica !== replica) limit.merge(told);
  });
  let times = 0;
  const timer = setInterval(() => {
    // Published while it is away, the client would keep it and send it late.
    if (!nats.isUp) return;
    if (++times % tellAgainEvery === 0) limit.requeueLargeCounts();
    for (let message = 0; message < maxMessages; message++) {
      const counts = limit.takePending(maxPerMessage);
      if (counts.counts.length === 0) return;
      nats.connection.publish(subject, JSON.stringify({ ...counts, replica } satisfies ReplicaCounts));
    }
  }, tellIntervalMs);
  timer.unref();
  return {
    stop: () => {
      clearInterval(timer);
      listener.stop();
    },
  };
}

/** A gateway of another release may say something else: what is not understood is not counted. */
function read(data: Uint8Array): ReplicaCounts | undefined {
  let told: Partial<ReplicaCounts> | null;
  try {
    told = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString()) as Partial<ReplicaCounts> | null;
  } catch {
    return undefined;
  }
  const { window, replica, counts } = told ?? {};
  if (typeof window !== 'number' || typeof replica !== 'string' || !replicaForm.test(replica)) return undefined;
  if (!Array.isArray(counts) || counts.length > maxPerMessage || !counts.every(isCount)) return undefined;
  return { window, replica, counts };
}

const isCount = (one: unknown): one is ReplicaCounts['counts'][number] =>
  Array.isArray(one) && typeof one[0] === 'string' && hashForm.test(one[0]) && Number.isSafeInteger(one[1]) && one[1] > 0;
