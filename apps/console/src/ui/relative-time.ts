import { locale } from './numbers.js';

const words = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });

const steps: readonly (readonly [limitMs: number, unitMs: number, unit: Intl.RelativeTimeFormatUnit])[] = [
  [60_000, 1_000, 'second'],
  [3_600_000, 60_000, 'minute'],
  [86_400_000, 3_600_000, 'hour'],
  [14 * 86_400_000, 86_400_000, 'day'],
];

/** "12 sec. ago", "in 3 hr.", the date when it is more than two weeks away. @param isPlanned it is still to come, even if a clock is late */
export function relativeTo(at: number, now: number, isPlanned = false): string {
  const difference = at - now;
  // The clocks of the shop and of the browser differ slightly.
  if (Math.abs(difference) < 5_000) return isPlanned ? 'in a moment' : 'just now';
  const [, unitMs, unit] = steps.find(([limitMs]) => Math.abs(difference) < limitMs) ?? [];
  return unit === undefined || unitMs === undefined ? day.format(at) : words.format(Math.trunc(difference / unitMs), unit);
}
