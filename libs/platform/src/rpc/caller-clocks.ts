import type { Msg } from '@nats-io/nats-core';
import type { Logger } from '../logging.js';
import type { Listener, Nats } from '../nats.js';
import { processNow } from './context.js';
import { checkClockReading, type ClockReading, decodeBatch, encodeBatch, batchKinds } from './batch.js';
import { clockReadingsPrefix, clockRequestSubject } from './operation.js';

/** Age at which a measurement is repeated, while batches arrive. */
const remeasureAfterMs = 30_000;
/** For this long after a measurement, a batch that looks late is not measured again: late batches cause at most one measurement a second. */
const recentMs = 1_000;
/** Drift between two measurements: 1,000 parts per million, plus rounding. */
const driftMs = 100;

/**
 * Bounds the offset of one caller's process clock: our reading minus the caller's reading at the same moment. Every batch gives an
 * upper bound, since it was sent before it was read. A measurement gives both bounds, since the caller read its clock after we sent
 * the request and before we received the reply.
 *
 * The offset in use is the upper bound. It never overestimates a batch's age, so differing clocks never drop a call. It
 * underestimates the age by at most the measurement's round trip, so a call starts at most that long after its deadline.
 */
export class CallerClock {
  private upperBound = Infinity;
  private lowerBound = -Infinity;
  /** The upper bound from the batches since `upperBound` was last replaced. */
  private recentUpperBound = Infinity;
  private replacedAt = -Infinity;
  private checkedAt = -Infinity;

  /**
   * Bounds the offset with a batch's send time.
   * @param now when the batch was read, by our clock
   * @param sent when the batch was sent, by the caller's clock
   * @param deadline the batch's earliest deadline, by the caller's clock
   * @returns whether `offsetMs` is reliable enough for this batch. False before the first measurement, and when the batch looks late
   *   or seems to come from the future, since one of the hosts may have been suspended
   */
  boundOffset(now: number, sent: number, deadline: number): boolean {
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
   * Records that the caller did not reply with its clock: it is paused, or its replies are lost. The freshest batch then counts as sent
   * when it was read. Bounds older than one to two intervals are dropped.
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

/** Timeout of a clock request, counted in steps during which this process ran. */
const timeoutSteps = 5;
const stepMs = 50;
/** A longer round trip bounds the offset too loosely, so the measurement is repeated. */
const maxRoundTripMs = timeoutSteps * stepMs;
const maxAttempts = 3;
const forgetAfterMs = 120_000;
/** The largest difference between two hosts' time of day that docs/reliability.md allows. */
const maxSkewMs = 600_000;

/** A caller's clock reading and when it was received; `gone`: the caller has no subscription any more; `timeout`: no reply. */
type Reply = { readonly reading: ClockReading; readonly receivedAt: number } | 'gone' | 'timeout';

/** A process that calls this one. */
export interface CallingProcess {
  readonly service: string;
  /** Of its reply subjects for calls to this service. */
  readonly prefix: string;
  readonly clock: CallerClock;
  lastSeenAt: number;
  measuring: Promise<void> | undefined;
  /** The process has ended or lost its connection, so it waits for no answer. */
  isGone: boolean;
  /** The caller's time of day minus ours. */
  skewMs: number | undefined;
}

/**
 * The clocks of the processes that call this one, each with its measured offset from ours. Measures a caller's clock at its first
 * batch, then every 30 s while batches arrive, and before refusing a batch as late.
 */
export class CallerClocks {
  private readonly callers = new Map<string, CallingProcess>();
  private readonly prefix: string;
  /** By `<caller>.<request>`. */
  private readonly waiting = new Map<string, (reply: Reply) => void>();
  private listener: Listener | undefined;
  private lastRequest = 0;

  constructor(
    private readonly nats: Nats,
    service: string,
    private readonly logger: Logger,
  ) {
    this.prefix = clockReadingsPrefix(service);
  }

  listen(): void {
    this.listener = this.nats.listen(`${this.prefix}.*.*`, (message) => this.receive(message));
  }

  stop(): void {
    this.listener?.stop();
  }

  /** Returns the caller with this prefix. After two minutes without a batch it counts as a new one. */
  of(prefix: string, service: string, now: number): CallingProcess {
    const known = this.callers.get(prefix);
    if (known && now - known.lastSeenAt < forgetAfterMs) {
      known.lastSeenAt = now;
      return known;
    }
    for (const [key, { lastSeenAt }] of this.callers) if (now - lastSeenAt >= forgetAfterMs) this.callers.delete(key);
    const caller: CallingProcess = { service, prefix, clock: new CallerClock(), lastSeenAt: now, measuring: undefined, isGone: false, skewMs: undefined };
    this.callers.set(prefix, caller);
    return caller;
  }

  /** Measures the caller's clock, one measurement at a time. Resolves also when the caller does not reply. */
  measure(caller: CallingProcess): Promise<void> {
    caller.measuring ??= this.measureNow(caller).finally(() => (caller.measuring = undefined));
    return caller.measuring;
  }

  /** Returns by how many milliseconds each calling service's time of day is ahead of ours: the largest difference of its processes. */
  skews(): Map<string, number> {
    const skews = new Map<string, number>();
    const now = processNow();
    for (const { service, skewMs, lastSeenAt } of this.callers.values()) {
      if (skewMs === undefined || now - lastSeenAt >= forgetAfterMs) continue;
      if (Math.abs(skewMs) >= Math.abs(skews.get(service) ?? 0)) skews.set(service, skewMs);
    }
    return skews;
  }

  private async measureNow(caller: CallingProcess): Promise<void> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const sentAt = processNow();
      const reply = await this.ask(caller);
      if (reply === 'gone') {
        // If its connection comes back, it is measured like a new caller.
        caller.isGone = true;
        this.callers.delete(caller.prefix);
        return;
      }
      if (reply === 'timeout') break;
      const { reading, receivedAt } = reply;
      if (receivedAt - sentAt > maxRoundTripMs && attempt < maxAttempts) continue;
      caller.clock.recordMeasurement(sentAt, reading.clock, receivedAt);
      // Assumes that the caller read its clock halfway through the round trip; the error is at most half of it.
      this.recordSkew(caller, reading.wall - (Date.now() - (processNow() - sentAt) + (receivedAt - sentAt) / 2));
      return;
    }
    caller.clock.recordNoReply(processNow());
  }

  private recordSkew(caller: CallingProcess, skewMs: number): void {
    const wasFar = Math.abs(caller.skewMs ?? 0) > maxSkewMs;
    const isFar = Math.abs(skewMs) > maxSkewMs;
    caller.skewMs = skewMs;
    if (isFar === wasFar) return;
    const fields = { peer: caller.service, aheadSeconds: Math.round(skewMs / 100) / 10 };
    if (isFar) this.logger.warn(fields, 'clock skew exceeds the supported limit');
    else this.logger.info(fields, 'clock skew is within the limit again');
  }

  private ask({ service, prefix }: CallingProcess): Promise<Reply> {
    const request = `${service}.${++this.lastRequest}`;
    return new Promise((resolve) => {
      let stepsLeft = timeoutSteps;
      // Several short timers: after a pause of this process only the first is overdue, and a reply is read before the next one.
      const step = (): void => {
        if (--stepsLeft === 0) settle('timeout');
        else timer = setTimeout(step, stepMs);
      };
      let timer = setTimeout(step, stepMs);
      const settle = (reply: Reply): void => {
        clearTimeout(timer);
        this.waiting.delete(request);
        resolve(reply);
      };
      this.waiting.set(request, settle);
      try {
        this.nats.connection.publish(clockRequestSubject(prefix), encodeBatch(batchKinds.clockRequest, []), {
          reply: `${this.prefix}.${request}`,
        });
      } catch (error) {
        this.logger.warn({ err: error, peer: service }, 'clock request not sent');
        settle('timeout');
      }
    });
  }

  private receive(message: Msg): void {
    const receivedAt = processNow();
    const settle = this.waiting.get(message.subject.slice(this.prefix.length + 1));
    if (!settle) return;
    // No responders: the NATS server replies with an empty message and status 503.
    if (message.data.length === 0 && message.headers?.code === 503) {
      settle('gone');
      return;
    }
    const { kind, entries } = decodeBatch<Partial<ClockReading>>(message.data);
    const reading = entries[0]?.meta;
    if (kind !== batchKinds.clockReading || !reading) return;
    checkClockReading(reading);
    settle({ reading, receivedAt });
  }
}
