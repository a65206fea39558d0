/** Age at which a measurement is repeated, while frames arrive. */
const remeasureAfterMs = 30_000;
/** For this long after a measurement, a frame that looks late is not measured again: late frames cause at most one measurement a second. */
const recentMs = 1_000;
/** Drift between two measurements: 1,000 parts per million, plus rounding. */
const driftMs = 100;

/**
 * Bounds the offset of one caller's process clock: our reading minus the caller's reading at the same moment. Every frame gives an
 * upper bound, since it was sent before it was read. A measurement gives both bounds, since the caller read its clock after we sent
 * the request and before we received the reply.
 *
 * The offset in use is the upper bound. It never overestimates a frame's age, so differing clocks never drop a call. It
 * underestimates the age by at most the measurement's round trip, so a call starts at most that long after its deadline.
 */
export class CallerClock {
  private upperBound = Infinity;
  private lowerBound = -Infinity;
  /** The upper bound from the frames since `upperBound` was last replaced. */
  private recentUpperBound = Infinity;
  private replacedAt = -Infinity;
  private checkedAt = -Infinity;

  /**
   * Bounds the offset with a frame's send time.
   * @param now when the frame was read, by our clock
   * @param sent when the frame was sent, by the caller's clock
   * @param deadline the frame's earliest deadline, by the caller's clock
   * @returns whether `offsetMs` is reliable enough for this frame. False before the first measurement, and when the frame looks late
   *   or seems to come from the future, since one of the hosts may have been suspended
   */
  observe(now: number, sent: number, deadline: number): boolean {
    const offset = now - sent;
    if (offset < this.recentUpperBound) this.recentUpperBound = offset;
    const isPossible = offset >= this.lowerBound;
    if (isPossible && offset < this.upperBound) this.upperBound = offset;
    if (this.checkedAt === -Infinity) return false;
    return (isPossible && deadline + this.upperBound > now) || now - this.checkedAt < recentMs;
  }

  /** Upper bound of our clock minus the caller's, in milliseconds. */
  get offsetMs(): number {
    return this.upperBound;
  }

  needsMeasuring(now: number): boolean {
    return now - this.checkedAt >= remeasureAfterMs;
  }

  /** Records that the caller's clock showed `reading` at some time between `sentAt` and `receivedAt` of our clock. */
  recordMeasurement(sentAt: number, reading: number, receivedAt: number): void {
    this.replace(receivedAt - reading, receivedAt);
    this.lowerBound = sentAt - reading - driftMs;
    this.checkedAt = receivedAt;
  }

  /**
   * Records that the caller did not reply with its clock: it runs the previous release, or is paused. The freshest frame then counts
   * as sent when it was read. Bounds older than one to two intervals are dropped, since a caller of the previous release follows its
   * host's clock, which may be set.
   */
  recordNoReply(now: number): void {
    if (this.lowerBound === -Infinity && now - this.replacedAt >= remeasureAfterMs) this.replace(this.recentUpperBound, now);
    this.checkedAt = now;
  }

  private replace(most: number, now: number): void {
    this.upperBound = most;
    this.recentUpperBound = Infinity;
    this.replacedAt = now;
  }
}
