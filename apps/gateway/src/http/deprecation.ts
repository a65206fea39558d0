/** An operation that a later release removes: docs/api/deprecation.md. */
export interface Deprecation {
  /** The start of this day, UTC. */
  readonly since: Date;
  /** The operation answers as before until the start of this day, UTC. */
  readonly sunset: Date;
}

/** The least time between the two, in days: clients are promised it. */
const noticeDays = 180;

/**
 * Declares an operation deprecated: `@Rule({ deprecated: deprecated('2026-12-01', '2027-06-01') })`.
 *
 * @param since day, as 2026-12-01
 * @param sunset day
 * @throws Error when one is no day, or when clients would have less than 180 days
 */
export function deprecated(since: string, sunset: string): Deprecation {
  const days = { since: dayOf(since), sunset: dayOf(sunset) };
  if (days.sunset.getTime() - days.since.getTime() < noticeDays * 24 * 3_600_000) {
    throw new Error(`deprecated on ${since}, an operation may go ${noticeDays} days later at the earliest, not on ${sunset}`);
  }
  return days;
}

/** RFC 9745 (a structured date: seconds since the epoch) and RFC 8594 (an HTTP date). */
export const deprecationHeaders = ({ since, sunset }: Deprecation): Readonly<Record<'deprecation' | 'sunset', string>> => ({
  deprecation: `@${since.getTime() / 1000}`,
  sunset: sunset.toUTCString(),
});

/** For the OpenAPI document. */
export const deprecationText = ({ since, sunset }: Deprecation): string =>
  `Deprecated since ${dayText(since)}. It answers as before until ${dayText(sunset)} and is removed after that.`;

const dayText = (day: Date): string => day.toISOString().slice(0, 10);

function dayOf(text: string): Date {
  const day = new Date(`${text}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || dayText(day) !== text) throw new Error(`${text} is no day`);
  return day;
}
