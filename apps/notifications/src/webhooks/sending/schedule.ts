/** Maximum Retry-After that is honoured. */
export const maxRetryAfterMs = 86_400_000;

/** Parses Retry-After (RFC 9110, 10.2.3): seconds or a date. Returns undefined for anything else. */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,12}$/.test(header)) return Math.min(Number(header) * 1_000, maxRetryAfterMs);
  // All three forms of an HTTP date begin with the day of the week.
  const date = /^(mon|tue|wed|thu|fri|sat|sun)/i.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, date - now.getTime()), maxRetryAfterMs);
}

/** Two clocks with a smaller difference are right. */
const agreementMs = 30_000;
/** For how long the time goes on without an agreement; then the monotonic clock may have drifted. */
const agreedForMs = 3_600_000;

/**
 * The time that attempts are signed with: receivers refuse one that is minutes off. The clock of this host or of identity's database may be set
 * wrong while this process runs, so the time goes on from when both last agreed. Without that it is identity's.
 */
export class AgreedTime {
  private agreed: { readonly time: number; readonly at: number } | undefined;

  constructor(
    private readonly identityTime: () => number,
    private readonly hostTime: () => number = () => Date.now(),
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  now(): Date {
    const time = this.identityTime();
    const at = this.monotonic();
    if (Math.abs(time - this.hostTime()) < agreementMs) this.agreed = { time, at };
    const { agreed } = this;
    return new Date(agreed && at - agreed.at < agreedForMs ? agreed.time + at - agreed.at : time);
  }
}
