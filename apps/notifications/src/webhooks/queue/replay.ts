import type { Replay, ReplayRange } from '@plant-shop/contracts/notifications';
import { findWatermark } from '@plant-shop/events/event-log';
import { lockLogForShare } from '@plant-shop/events/log-retention';
import { CodedError } from '@plant-shop/platform/errors';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import { decodeCursor, encodeCursor, noEpoch } from '../../log/cursor.js';
import { findLoggedSince, replayFailed, replayLogged, type ReplayWindow } from './replay.repository.js';
import { findEnqueuedUpTo } from './webhook-watermark.repository.js';

/** Limits of one call, deliveries enqueued and events scanned, so that it responds in time with any filter. */
const maxScheduled = 10_000;
const maxScanned = 100_000;
/** Tolerance for differing clocks of the replicas that log events. */
const clockSlackMs = 60_000;

/**
 * Schedules past events again, each behind its order's pending deliveries. Leaves out events whose deliveries are not enqueued yet: they
 * are delivered anyway, if the endpoint is enabled by then.
 * @throws CodedError `invalid-cursor`
 */
export async function replayEvents(tx: Transaction, webhookId: string, range: ReplayRange): Promise<Replay> {
  // The lock keeps retention from deleting events until the transaction ends.
  const oldest = await lockLogForShare(tx);
  const { seq: head, epoch } = await findWatermark(tx);
  const enqueued = await findEnqueuedUpTo(tx, webhookId);
  const after = Math.max(await afterOf(tx, range, epoch ?? noEpoch, { oldest, head }), oldest - 1);
  const window: ReplayWindow = {
    webhookId,
    after,
    upTo: Math.max(after, Math.min(enqueued, after + maxScanned)),
    since: range.since ?? null,
    until: range.until ?? null,
    limit: maxScheduled,
  };
  const { scheduled, last } = range.onlyFailed ? await replayFailed(tx, window) : await replayLogged(tx, window);
  const end = scheduled < maxScheduled ? window.upTo : last;
  return { scheduled, ...(end < enqueued && { cursor: encodeCursor({ epoch: epoch ?? noEpoch, seq: end }) }) };
}

async function afterOf(
  tx: Transaction,
  { fromCursor, since }: ReplayRange,
  epoch: string,
  { oldest, head }: { readonly oldest: number; readonly head: number },
): Promise<number> {
  if (fromCursor !== undefined) {
    const cursor = decodeCursor(fromCursor);
    if (cursor?.epoch === epoch && cursor.seq <= head) return cursor.seq;
    throw new CodedError('invalid-cursor', 'The cursor is not of this stream, or of an epoch that it no longer has. Use since.');
  }
  return since === undefined ? 0 : (await findLoggedSince(tx, new Date(Date.parse(since) - clockSlackMs), oldest, head)) - 1;
}
