import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { broadcasts } from '@plant-shop/contracts/broker';
import type { Logger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { RateLimit, type ReplicaCounts } from './rate-limit.js';

const { subject } = broadcasts.counts;

const publishIntervalMs = 200;
/** At about 25 bytes per count, a message stays far below NATS's limit of 1 MB. */
const maxPerMessage = 4_000;
const maxMessages = 5;
/** In intervals: large counts are published again every five seconds, for gateways that missed them. */
const republishEvery = 25;
const replicaForm = /^[\w-]{8}$/;
const hashForm = /^[\w-]{16}$/;

/**
 * Replicates rate limit counts between gateways: publishes changed counts every 200 ms and merges those of the others. No
 * request waits for it. While NATS is down each gateway counts alone, and publishes its counts when NATS is back.
 */
@Injectable()
export class SharedCounts extends BackgroundLoop {
  /** Random per process; the counts of an ended process are dropped with their window. */
  private readonly replica = randomBytes(6).toString('base64url');
  private listener: { stop: () => void } | undefined;
  private intervals = 0;

  constructor(
    private readonly nats: Nats,
    private readonly limit: RateLimit,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'share counts', intervalMs: publishIntervalMs, isTraced: false }, async () => this.publish(), logger);
  }

  override start(): void {
    this.listener ??= this.nats.listen(subject, (message) => {
      const received = parse(message.data);
      if (received && received.replica !== this.replica) this.limit.merge(received);
    });
    super.start();
  }

  override async stop(): Promise<void> {
    this.listener?.stop();
    await super.stop();
  }

  private publish(): false {
    // While NATS is down, its client would buffer messages and send them late.
    if (!this.nats.isUp) return false;
    if (++this.intervals % republishEvery === 0) this.limit.requeueLargeCounts();
    for (let message = 0; message < maxMessages; message++) {
      const counts = this.limit.takePending(maxPerMessage);
      if (counts.counts.length === 0) break;
      this.nats.connection.publish(subject, JSON.stringify({ ...counts, replica: this.replica } satisfies ReplicaCounts));
    }
    return false;
  }
}

/** Returns undefined for messages in another form, which a gateway of another release may send. */
function parse(data: Uint8Array): ReplicaCounts | undefined {
  let message: Partial<ReplicaCounts> | null;
  try {
    message = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString()) as Partial<ReplicaCounts> | null;
  } catch {
    return undefined;
  }
  const { window, replica, counts } = message ?? {};
  if (typeof window !== 'number' || typeof replica !== 'string' || !replicaForm.test(replica)) return undefined;
  if (!Array.isArray(counts) || counts.length > maxPerMessage || !counts.every(isCount)) return undefined;
  return { window, replica, counts };
}

const isCount = (one: unknown): one is ReplicaCounts['counts'][number] =>
  Array.isArray(one) && typeof one[0] === 'string' && hashForm.test(one[0]) && Number.isSafeInteger(one[1]) && one[1] > 0;
