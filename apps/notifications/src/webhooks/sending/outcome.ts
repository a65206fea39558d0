import type { DeliveryAttempt } from '@plant-shop/contracts/notifications';
import type { ClaimedDelivery, Health, Outcome } from '../queue/queue.repository.js';
import { pauseAfter } from './schedule.js';
import type { SendResult } from './webhook-sender.js';

/** The receiver wants no more of it, ever. */
const goneStatus = 410;
/** With these, Retry-After is about the receiver and not about the one event. */
const busyStatuses = [429, 503];
/** However long a receiver asks for: its other events wait as well, and may be for nothing. */
const longestPauseMs = 3_600_000;

const isDelivered = ({ status }: SendResult): boolean => status !== undefined && status >= 200 && status < 300;
const isSilent = ({ status }: SendResult): boolean => status === undefined;
export const isGone = ({ status }: Pick<SendResult, 'status'>): boolean => status === goneStatus;

const askedPauseMs = ({ status, retryAfterMs = 0 }: SendResult): number =>
  status !== undefined && busyStatuses.includes(status) ? retryAfterMs : 0;

/** @param random from 0 to 1 */
export function outcomeOf(delivery: ClaimedDelivery, lease: string, sent: SendResult, timeScale: number, random: number): Outcome {
  const base = { delivery, lease, attempt: toAttempt(sent) };
  if (isDelivered(sent)) return { ...base, state: 'delivered', pauseMs: 0 };
  const pauseMs = pauseAfter(delivery.made + 1, timeScale, random);
  // What the receiver was gone for is held like what comes later: the endpoint is disabled.
  if (pauseMs === undefined) return { ...base, state: isGone(sent) ? 'pending' : 'failed', pauseMs: 0 };
  return { ...base, state: 'pending', pauseMs: Math.max(pauseMs, askedPauseMs(sent)) };
}

const toAttempt = ({ at, status, durationMs, error }: SendResult): DeliveryAttempt => ({
  at: at.toISOString(),
  ...(status !== undefined && { status }),
  durationMs,
  ...(error !== undefined && { error }),
});

/** Whether an attempt gave its place back soon, whatever came of it. A success that did not is a slow one. */
export const isQuick = ({ durationMs, isUnfinished }: SendResult, promptMs: number): boolean => durationMs <= promptMs && !isUnfinished;

/**
 * What a batch of attempts says of each endpoint.
 * @param promptMs an answer that takes longer is not prompt
 */
export function healthOf(attempts: readonly { readonly webhookId: string; readonly sent: SendResult }[], promptMs: number): Health[] {
  const health = new Map<string, Health>();
  for (const { webhookId, sent } of attempts) {
    const before = health.get(webhookId);
    const wasPrompt = !isSilent(sent) && isQuick(sent, promptMs);
    health.set(webhookId, {
      webhookId,
      delivered: isDelivered(sent) || (before?.delivered ?? false),
      answered: !isSilent(sent) || (before?.answered ?? false),
      prompt: wasPrompt || (before?.prompt ?? false),
      silentAttempts: (before?.silentAttempts ?? 0) + (wasPrompt ? 0 : 1),
      pauseMs: Math.max(Math.min(askedPauseMs(sent), longestPauseMs), before?.pauseMs ?? 0),
    });
  }
  return [...health.values()];
}
