import type { Logger } from '@plant-shop/platform/logging';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { QueueClock } from '../queue/queue-clock.js';
import { type ClaimedDelivery, renewLeases } from '../queue/queue.repository.js';

interface Claim {
  readonly claimed: Pick<ClaimedDelivery, 'id'>;
  readonly lease: string;
  readonly url: string;
  readonly oldestSecret: number | null;
}

/** What happens to claims whose leases are not renewed. */
interface LeaseHandler<Job> {
  /** Gives back a claim that still waits. Returns false if its attempt has begun. */
  giveBack(job: Job): boolean;
  /** Cuts the attempt of a claim that no longer holds. */
  cut(job: Job): void;
}

/** Part of the lease within which an attempt may begin: clocks of two hosts run at different speeds. */
const usable = 0.9;
/** Interval of renewals, as part of the lease. */
const renewal = 0.25;
/** Maximum interval of renewals: a change must end attempts in progress within a second. */
const maxIntervalMs = 500;

/**
 * The leases of claimed deliveries whose outcomes are not recorded. Renews those of attempts in progress: a worker that crashed or lost
 * the database does not, so others take over its deliveries within `leaseMs`. A claim no longer holds if another worker has it, or if
 * what it was made from has changed: the state of the endpoint, its URL, secrets or filters, or what its owner may see.
 */
export class Leases<Job extends Claim> extends BackgroundLoop {
  /** Until when each lease surely lasts, by `performance.now`. */
  private readonly until = new Map<Job, number>();

  constructor(
    private readonly clock: QueueClock,
    private readonly leaseMs: number,
    private readonly handler: LeaseHandler<Job>,
    logger: Logger,
  ) {
    super({ name: 'renew leases of webhooks', intervalMs: Math.min(leaseMs * renewal, maxIntervalMs) }, () => this.renew(), logger);
  }

  /** @param begunAt when the claim began, by `performance.now` */
  add(jobs: readonly Job[], begunAt: number): void {
    for (const job of jobs) this.until.set(job, begunAt + this.leaseMs * usable);
  }

  /** Whether the lease surely still lasts. Otherwise another worker may have claimed the delivery. */
  isValid(job: Job): boolean {
    return performance.now() < (this.until.get(job) ?? 0);
  }

  delete(job: Job): void {
    this.until.delete(job);
  }

  private async renew(): Promise<boolean> {
    const now = performance.now();
    // Most claims end before they need a renewal.
    const old = now + this.leaseMs * usable - this.options.intervalMs / 2;
    const due = [...this.until].flatMap(([job, until]) => (until < old && !this.handler.giveBack(job) ? [job] : []));
    if (due.length === 0) return false;
    const claims = due.map(({ claimed, lease, url, oldestSecret }) => ({ id: claimed.id, lease, url, oldestSecret }));
    const renewed = await this.clock.transaction((tx) => renewLeases(tx, claims, this.leaseMs));
    const renewals = new Map(renewed.map((one) => [one.id, one]));
    for (const job of due) {
      const { holds, isRenewed } = renewals.get(job.claimed.id) ?? {};
      if (!this.until.has(job)) continue;
      if (isRenewed) this.add([job], now);
      if (!holds) this.handler.cut(job);
    }
    return false;
  }
}
