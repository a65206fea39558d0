/** The offset between two processes' clocks is measured again after this time, while frames come. */
const remeasureAfterMs = 30_000;
/** For this long after a measurement, a frame that looks late is late: at most one measurement a second for them. */
const recentMs = 1_000;
/** What two clocks may drift apart between two measurements: 1,000 parts per million, and room for rounding. */
const driftMs = 100;

/**
 * How one caller's process clock relates to ours: own reading minus the caller's reading of the same moment, kept as an
 * upper bound. Every frame bounds it: it was sent before it was read. A measurement bounds it from both sides: the
 * caller read its clock after we asked and before we heard.
 *
 * With an upper bound, a frame's age is never overestimated: clocks that differ drop nothing. It is underestimated by at
 * most the round trip of the measurement, so a call begins at most that much after its deadline.
 */
export class CallerClock {
  private most = Infinity;
  private least = -Infinity;
  /** The upper bound by the frames since the last time that `most` was replaced. */
  private mostSince = Infinity;
  private replacedAt = -Infinity;
  private checkedAt = -Infinity;

  /**
   * Takes a frame's send time as a bound.
   * @param now when it was read, by our clock
   * @param sent when it was sent, by the caller's clock
   * @param deadline its earliest deadline, by the caller's clock
   * @returns whether the frame can be judged by `offsetMs`. Not before the first measurement; nor when the frame looks
   *   late or seems to be sent in the future, which may mean that one of the hosts was suspended
   */
  hear(now: number, sent: number, deadline: number): boolean {
    const offset = now - sent;
    if (offset < this.mostSince) this.mostSince = offset;
    const isPossible = offset >= this.least;
    if (isPossible && offset < this.most) this.most = offset;
    if (this.checkedAt === -Infinity) return false;
    return (isPossible && deadline + this.most > now) || now - this.checkedAt < recentMs;
  }

  /** Own clock minus the caller's, at most. */
  get offsetMs(): number {
    return this.most;
  }

  needsMeasuring(now: number): boolean {
    return now - this.checkedAt >= remeasureAfterMs;
  }

  /** The caller's clock showed `reading` between the moments `asked` and `heard` of ours. */
  measured(asked: number, reading: number, heard: number): void {
    this.replace(heard - reading, heard);
    this.least = asked - reading - driftMs;
    this.checkedAt = heard;
  }

  /**
   * The caller does not tell its clock: it is of the release before, or paused. The freshest frame counts as sent when it was
   * read. Bounds older than one to two intervals are forgotten, since a caller of the release before follows its host's
   * clock.
   */
  unanswered(now: number): void {
    if (this.least === -Infinity && now - this.replacedAt >= remeasureAfterMs) this.replace(this.mostSince, now);
    this.checkedAt = now;
  }

  private replace(most: number, now: number): void {
    this.most = most;
    this.mostSince = Infinity;
    this.replacedAt = now;
  }
}
