import { counted } from '../../ui/numbers.js';
import type { Delivery, Webhook } from './webhook-reads.js';

export interface Health {
  readonly label: 'Healthy' | 'Not failing' | 'Failing' | 'Recovering' | 'Disabled' | 'Nothing sent yet' | 'Sending';
  readonly color: string;
  /** Why, in one sentence. */
  readonly why: string;
  /** When the last of what waits is to be tried again. */
  readonly until?: string | undefined;
}

/** The newest deliveries, and the newest that are pending, which determine an endpoint's health: a page of each. */
export const recent = 100;

type HealthFacts = Pick<Webhook, 'state' | 'disabledReason' | 'failingSince' | 'lastError' | 'owner'>;

/**
 * Returns an endpoint's health: whether it fails is the shop's to say, since attempts may be older than all these deliveries. Otherwise from its newest
 * deliveries, and the newest that are pending: many newer ones may have been delivered.
 */
export function healthOf(webhook: HealthFacts, deliveries: readonly Delivery[], pending = deliveries): Health {
  const { state, failingSince, lastError } = webhook;
  if (state === 'disabled') return shortHealthOf(webhook);
  const attempts = [...deliveries, ...pending].flatMap((one) => one.attempts).sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  const [last] = attempts;
  // The webhook is read less often than its deliveries.
  if (failingSince !== undefined && !(last && last.error === undefined && last.at > failingSince)) return { label: 'Failing', color: 'red', why: lastError ?? last?.error ?? 'The last attempt failed.' };
  if (!last) {
    return deliveries.length === 0
      ? { label: 'Nothing sent yet', color: 'gray', why: `No event has matched it so far.${webhook.owner === undefined ? ' Send a test event to see whether it answers.' : ''}` }
      : { label: 'Sending', color: 'blue', why: 'Deliveries are on their way. None has been answered yet.' };
  }
  if (last.error !== undefined) return { label: 'Failing', color: 'red', why: last.error };
  const waiting = waitingOf(pending);
  if (waiting.length > 0) return { label: 'Recovering', color: 'yellow', why: `It answers again. ${waitingText(waiting, deliveries, pending.length < recent)}`, until: lastAttemptOf(waiting) };
  return { label: 'Healthy', color: 'green', why: 'The last attempt succeeded.' };
}

/** Those that wait after a failed attempt, and those that wait behind one: an order's events are sent in their order. */
export function waitingOf(deliveries: readonly Delivery[]): readonly Delivery[] {
  const pending = deliveries.filter(({ state }) => state === 'pending');
  const firstFailed = new Map<number | undefined, number>();
  for (const { id, orderId, attempts } of pending) if (attempts.length > 0) firstFailed.set(orderId, Math.min(id, firstFailed.get(orderId) ?? id));
  return pending.filter(({ id, orderId, attempts, nextAttemptAt }) => attempts.length > 0 || (orderId !== undefined && nextAttemptAt === undefined && (firstFailed.get(orderId) ?? id) < id));
}

export const lastAttemptOf = (waiting: readonly Delivery[]): string | undefined => waiting.flatMap(({ nextAttemptAt = [] }) => nextAttemptAt).sort().at(-1);

/** Counts events that wait, without those that somebody has sent again meanwhile. */
function waitingText(waiting: readonly Delivery[], deliveries: readonly Delivery[], isAll: boolean): string {
  if (!isAll) return 'Many events wait to be tried again.';
  const arrived = new Set(deliveries.flatMap(({ eventId, state }) => (state === 'delivered' ? eventId : [])));
  const missing = waiting.filter(({ eventId }) => !arrived.has(eventId));
  const [failed, behind] = [true, false].map((hasFailed) => new Set(missing.flatMap(({ eventId, attempts }) => (attempts.length > 0 === hasFailed ? eventId : []))).size) as [number, number];
  if (failed + behind === 0) return 'What waits to be tried again has arrived: it was sent again.';
  if (failed === 0) return `${counted(behind, 'event waits', 'events wait')} behind others that were sent again.`;
  return `${counted(failed, 'event waits', 'events wait')} to be tried again${behind === 0 ? '' : `, ${counted(behind, 'other', 'others')} behind ${failed === 1 ? 'it' : 'them'}`}.`;
}

/** Returns what the shop itself says of an endpoint's health, where its deliveries are not read. */
export function shortHealthOf({ state, disabledReason, failingSince, lastError = 'The last attempt failed.' }: HealthFacts): Health {
  if (state === 'disabled') return { label: 'Disabled', color: disabledReason === undefined ? 'gray' : 'red', why: whyDisabled(disabledReason) };
  return failingSince === undefined ? { label: 'Not failing', color: 'gray', why: 'Its page says what was sent.' } : { label: 'Failing', color: 'red', why: lastError };
}

export function whyDisabled(reason: Webhook['disabledReason']): string {
  if (reason === 'gone') return 'It answered 410 Gone, so the shop stopped sending.';
  if (reason === 'failing') return 'It has failed for days, so the shop stopped sending.';
  return 'It was disabled by its owner.';
}
