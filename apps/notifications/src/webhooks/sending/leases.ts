import type { Logger } from '@plant-shop/platform/logging';
import type { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { type ClaimedDelivery, renewLeases } from '../queue/queue.repository.js';

interface Claim {
  readonly claimed: Pick<ClaimedDelivery, 'id'>;
  readonly lease: string;
}

/** Part of the lease within which an attempt may begin: clocks of two hosts run at different speeds. */
const usable = 0.9;
/** Interval of renewals, as part of the lease. */
const renewal = 0.25;

/**
 * The leases of claimed deliveries whose outcomes are not recorded. Renews them: a worker that crashed or lost the database does not,
 * so others take over its deliveries within `leaseMs`.
 */
export class Leases<Job extends Claim> extends BackgroundLoop {
  /** Until when each lease surely lasts, by `performance.now`. */
  private readonly until = new Map<Job, number>();

  constructor(
    private readonly database: Database,
    private readonly leaseMs: number,
    logger: Logger,
  ) {
    super({ name: 'renew leases of webhooks', intervalMs: leaseMs * renewal }, () => this.renew(), logger);
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
    const due = [...this.until].filter(([, until]) => until - now < this.leaseMs * (usable - renewal / 2)).map(([job]) => job);
    if (due.length === 0) return false;
    const claims = due.map(({ claimed, lease }) => ({ id: claimed.id, lease }));
    const renewed = await this.database.transaction((tx) => renewLeases(tx, claims, this.leaseMs));
    this.add(due.filter((job) => renewed.has(job.claimed.id) && this.until.has(job)), now);
    return false;
  }
}
