import type { Replay, ReplayRange } from '@plant-shop/contracts/notifications';
import { findWatermark } from '@plant-shop/events/event-log';
import { lockLogForShare } from '@plant-shop/events/log-retention';
import { CodedError } from '@plant-shop/platform/errors';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import { decodeCursor, encodeCursor, noEpoch } from '../../log/cursor.js';
import { findLoggedSince, replayFailed, replayLogged, type ReplayWindow } from './replay.repository.js';
import { findMadeUpTo } from './webhook-watermark.repository.js';

/** Deliveries that one call makes, and events that it looks at: so that it answers in time, whatever the filter leaves. */
const maxScheduled = 10_000;
const maxLookedAt = 100_000;
/** Replicas that log events may differ in their clocks. */
const clockSlackMs = 60_000;

/**
 * Schedules events of the past once more, each order's at the end of what is still to come of it. Those whose deliveries are
 * not made yet are not of the past: they come by themselves, if the endpoint is enabled by then.
 * @throws CodedError `invalid-cursor`
 */
export async function replayEvents(tx: Transaction, webhookId: string, range: ReplayRange): Promise<Replay> {
  // Nothing of the log is deleted meanwhile.
  const oldest = await lockLogForShare(tx);
  const { seq: head, epoch } = await findWatermark(tx);
  const made = await findMadeUpTo(tx, webhookId);
  const after = Math.max(await afterOf(tx, range, epoch ?? noEpoch, { oldest, head }), oldest - 1);
  const window: ReplayWindow = {
    webhookId,
    after,
    upTo: Math.max(after, Math.min(made, after + maxLookedAt)),
    since: range.since ?? null,
    until: range.until ?? null,
    limit: maxScheduled,
  };
  const { scheduled, last } = range.onlyFailed ? await replayFailed(tx, window) : await replayLogged(tx, window);
  const end = scheduled < maxScheduled ? window.upTo : last;
  return { scheduled, ...(end < made && { cursor: encodeCursor({ epoch: epoch ?? noEpoch, seq: end }) }) };
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
    throw new CodedError('invalid-cursor', 'The cursor is none of this stream, or of a history that it no longer has. Use since.');
  }
  return since === undefined ? 0 : (await findLoggedSince(tx, new Date(Date.parse(since) - clockSlackMs), oldest, head)) - 1;
}
