/** When an operation was deprecated and when it may be removed: docs/api/deprecation.md. */
export interface Deprecation {
  /** The start of this day, UTC. */
  readonly since: Date;
  /** The operation works unchanged until the start of this day, UTC. */
  readonly sunset: Date;
}

/** The minimum between both, in days, as promised to clients. */
const noticeDays = 180;

/**
 * Declares an operation deprecated: `deprecated: deprecated('2026-12-01', '2027-06-01')`.
 *
 * @param since date, as 2026-12-01
 * @param sunset date
 * @throws Error if one is not a date, or if they are less than 180 days apart
 */
export function deprecated(since: string, sunset: string): Deprecation {
  const days = { since: dayOf(since), sunset: dayOf(sunset) };
  if (days.sunset.getTime() - days.since.getTime() < noticeDays * 24 * 3_600_000) {
    throw new Error(`an operation deprecated on ${since} must stay for ${noticeDays} days: ${sunset} is too early`);
  }
  return days;
}

function dayOf(text: string): Date {
  const day = new Date(`${text}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== text) throw new Error(`${text} is not a date`);
  return day;
}
