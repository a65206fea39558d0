import type { DeliveryAttempt } from '@plant-shop/contracts/notifications';
import type { ClaimedDelivery, Health, Outcome } from '../queue/queue.repository.js';
import { pauseAfter } from '../queue/turn.js';
import { type SendResult } from './webhook-sender.js';

/** The receiver wants no more deliveries. */
const goneStatus = 410;
/** With these statuses, Retry-After concerns the receiver and not one event. */
const busyStatuses = [429, 503];
/** Maximum pause of an endpoint that its receiver may ask for: all its events wait meanwhile. */
const maxPauseMs = 3_600_000;

const isDelivered = ({ status }: SendResult): boolean => status !== undefined && status >= 200 && status < 300;
const isUnanswered = ({ status }: SendResult): boolean => status === undefined;
export const isGone = ({ status }: Pick<SendResult, 'status'>): boolean => status === goneStatus;

const askedPauseMs = ({ status, retryAfterMs = 0 }: SendResult): number =>
  status !== undefined && busyStatuses.includes(status) ? retryAfterMs : 0;

/** @param random from 0 to 1 */
export function outcomeOf(delivery: ClaimedDelivery, lease: string, sent: SendResult, timeScale: number, random: number): Outcome {
  const base = { delivery, lease, attempt: toAttempt(sent), ...(sent.response && { response: sent.response }), ...(sent.excerpt && { excerpt: sent.excerpt }) };
  if (isDelivered(sent)) return { ...base, state: 'delivered', pauseMs: 0 };
  const pauseMs = pauseAfter(delivery.recordedAttempts + 1, timeScale, random);
  // After a 410 the endpoint is disabled, and the delivery is held like later ones.
  if (pauseMs === undefined) return { ...base, state: isGone(sent) ? 'pending' : 'failed', pauseMs: 0 };
  return { ...base, state: 'pending', pauseMs: Math.max(pauseMs, askedPauseMs(sent)) };
}

/** The outcome of a delivery that the endpoint's filters exclude by now: it fails without an attempt. */
export const unwanted = (delivery: ClaimedDelivery, lease: string, at: Date): Outcome => ({
  ...{ delivery, lease, state: 'failed', pauseMs: 0 },
  attempt: { at: at.toISOString(), durationMs: 0, error: 'Not sent: the webhook no longer selects this event.' },
});

const toAttempt = ({ at, status, durationMs, error }: SendResult): DeliveryAttempt => ({
  at: at.toISOString(),
  ...(status !== undefined && { status }),
  durationMs,
  ...(error !== undefined && { error }),
});

/** Returns whether an attempt freed its slot soon, with any result. */
export const isQuick = ({ durationMs, isUnfinished }: SendResult, promptMs: number): boolean => durationMs <= promptMs && !isUnfinished;

/**
 * Summarises a batch of attempts per endpoint.
 * @param promptMs a response that takes longer is not prompt
 */
export function healthOf(attempts: readonly { readonly webhookId: string; readonly sent: SendResult }[], promptMs: number): Health[] {
  const health = new Map<string, Health>();
  for (const { webhookId, sent } of attempts) {
    const before = health.get(webhookId);
    const wasPrompt = !isUnanswered(sent) && isQuick(sent, promptMs);
    health.set(webhookId, {
      webhookId,
      delivered: isDelivered(sent) || (before?.delivered ?? false),
      answered: !isUnanswered(sent) || (before?.answered ?? false),
      prompt: wasPrompt || (before?.prompt ?? false),
      silentAttempts: (before?.silentAttempts ?? 0) + (wasPrompt ? 0 : 1),
      pauseMs: Math.max(Math.min(askedPauseMs(sent), maxPauseMs), before?.pauseMs ?? 0),
    });
  }
  return [...health.values()];
}
