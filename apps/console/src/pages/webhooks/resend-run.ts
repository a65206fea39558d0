import type { Shop } from '@plant-shop/client';
import { RowRun } from '../../shop/row-run.js';
import { shortText } from '../../ui/problem-text.js';
import { type Again, againAfter } from '../../ui/use-change.js';
import { nextCursor } from '../../ui/next-cursor.js';
import { lastAttemptOf, waitingOf } from './health.js';
import type { Delivery, DeliveryState } from './webhook-reads.js';

export interface ResendRow {
  readonly delivery: Delivery;
  readonly state: 'waiting' | 'running' | 'scheduled' | 'refused' | 'unknown';
  /** The new delivery, if it is scheduled. */
  readonly copy?: Delivery;
  /** Why it was refused, or is unknown. */
  readonly why?: string;
}

const pageSize = 1_000;
/** Pages read at most to find what failed. */
const mostPages = 20;
export const mostResent = 1_000;

/** Sends deliveries again, the oldest first and one after the other, so that a receiver gets an order's events in their order. */
export class ResendRun extends RowRun<ResendRow> {
  /** Whether several of the deliveries are of one event. */
  readonly isMerged: boolean;
  private readonly again = new Map<number, Again>();

  constructor(
    private readonly shop: Shop,
    private readonly webhookId: string,
    deliveries: readonly Delivery[],
  ) {
    // The newest delivery of an event stands for it.
    super([...Map.groupBy(deliveries, ({ eventId }) => eventId).values()].flatMap(([newest]) => newest ?? []).toReversed().map((delivery) => [delivery.id, { delivery, state: 'waiting' }]), 1);
    this.isMerged = this.state.get().rows.length < deliveries.length;
  }

  /** Sends those that are not scheduled yet. */
  run(): Promise<void> {
    return this.each(({ delivery }) => this.rowOf(delivery));
  }

  protected fresh({ delivery }: ResendRow, state: 'waiting' | 'running'): ResendRow {
    return { delivery, state };
  }

  protected isDone({ state }: ResendRow): boolean {
    return state === 'scheduled';
  }

  private async rowOf(delivery: Delivery): Promise<ResendRow> {
    try {
      const { data: copy } = await this.shop.POST('/webhooks/{webhookId}/deliveries/{deliveryId}/resend', { params: { path: { webhookId: this.webhookId, deliveryId: delivery.id } }, ...this.again.get(delivery.id) });
      return { delivery, state: 'scheduled', copy };
    } catch (error) {
      const again = againAfter(error, this.again.get(delivery.id));
      this.again.set(delivery.id, again);
      return { delivery, state: again.idempotencyKey === undefined ? 'refused' : 'unknown', why: shortText(error) };
    }
  }
}

export interface FoundFailures {
  readonly failures: readonly Delivery[];
  /** Whether older or further ones were left out. */
  readonly isCut: boolean;
  /** Number of events that the shop tries again by itself, also of other periods. */
  readonly waiting: number;
  /** When the last of them is to be tried. */
  readonly until: string | undefined;
}

/** Finds the events of a period that failed, or wait after a failed attempt or behind one, and were not sent again since: one delivery of each, newest first. @param until undefined: now */
export async function findFailures(shop: Shop, webhookId: string, since: Date, until: Date | undefined): Promise<FoundFailures> {
  const pending: Delivery[] = [];
  for await (const page of pagesOf(shop, webhookId, 'pending')) pending.push(...page);
  // What they wait for may be older than the period, or sent again since.
  const waiting = waitingOf(pending);
  const waits = new Set(waiting.map(({ id }) => id));
  const failures: Delivery[] = [];
  const found = (isCut: boolean): FoundFailures => ({ failures, isCut, waiting: new Set(waiting.map(({ eventId }) => eventId)).size, until: lastAttemptOf(waiting) });
  const known = new Set<string>();
  let read = 0;
  for await (const page of pagesOf(shop, webhookId)) {
    read += page.length;
    for (const delivery of page) {
      const at = Date.parse(delivery.createdAt ?? delivery.attempts[0]?.at ?? '');
      if (at < since.getTime()) return found(false);
      // The newest delivery of an event tells what became of it.
      if (known.has(delivery.eventId)) continue;
      known.add(delivery.eventId);
      if (!(delivery.state === 'failed' || waits.has(delivery.id)) || (until && at >= until.getTime())) continue;
      if (failures.length === mostResent) return found(true);
      failures.push(delivery);
    }
  }
  return found(read === mostPages * pageSize);
}

/** Reads deliveries, newest first: `mostPages` at most. */
async function* pagesOf(shop: Shop, webhookId: string, state?: DeliveryState): AsyncGenerator<readonly Delivery[]> {
  let cursor: string | undefined;
  for (let pages = 0; pages < mostPages; pages++) {
    const { data, response } = await shop.GET('/webhooks/{webhookId}/deliveries', { params: { path: { webhookId }, query: { limit: pageSize, ...(state && { state }), ...(cursor !== undefined && { cursor }) } } });
    yield data;
    cursor = nextCursor(response);
    if (cursor === undefined) return;
  }
}
