import type { Msg } from '@nats-io/nats-core';
import type { Logger } from '../logging.js';
import type { Listener, Nats } from '../nats.js';
import { CallerClock } from './caller-clock.js';
import { checkClockReading, type ClockReading, decodeFrame, encodeFrame, frameKinds } from './frame.js';
import { processNow } from './process-clock.js';
import { callerOf, clockReadingsPrefix, clockRequestSubject } from './subjects.js';

/** How long an answer is waited for: steps of this process's running time. */
const patienceSteps = 5;
const stepMs = 50;
/** A longer round trip bounds the offset loosely: it is tried again. */
const maxRoundTripMs = patienceSteps * stepMs;
const maxAttempts = 3;
const silenceMs = 120_000;
/** By how much the time of day of two hosts may differ: what docs/reliability.md promises. */
const maxSkewMs = 600_000;

/** A caller's reading, when it was heard; `gone`: nobody listens there any more; `silent`: no answer came. */
type Reply = { readonly reading: ClockReading; readonly heard: number } | 'gone' | 'silent';

/** What is known of one caller process. */
export interface Caller {
  readonly prefix: string;
  readonly clock: CallerClock;
  heardAt: number;
  measuring: Promise<void> | undefined;
  /** The process has ended or lost its connection: it waits for no answer. */
  isGone: boolean;
  /** Its host's time of day minus ours. */
  skewMs: number | undefined;
}

/**
 * The clocks of the processes that call this one, each with the measured offset from ours. A caller is asked for its
 * clock at its first frame, then every 30 s while frames come, and before a frame is refused as late.
 */
export class CallerClocks {
  private readonly callers = new Map<string, Caller>();
  private readonly prefix: string;
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
    this.listener = this.nats.listen(`${this.prefix}.*`, (message) => this.receive(message));
  }

  stop(): void {
    this.listener?.stop();
  }

  /** The caller, after a silence like one that was never heard. */
  of(prefix: string, now: number): Caller {
    const known = this.callers.get(prefix);
    if (known && now - known.heardAt < silenceMs) {
      known.heardAt = now;
      return known;
    }
    for (const [key, { heardAt }] of this.callers) if (now - heardAt >= silenceMs) this.callers.delete(key);
    const caller: Caller = { prefix, clock: new CallerClock(), heardAt: now, measuring: undefined, isGone: false, skewMs: undefined };
    this.callers.set(prefix, caller);
    return caller;
  }

  /** Resolves when the caller's clock has been measured, or cannot be; one measurement at a time. */
  measure(caller: Caller): Promise<void> {
    caller.measuring ??= this.measureNow(caller).finally(() => (caller.measuring = undefined));
    return caller.measuring;
  }

  /** By how many milliseconds the time of day of a service's hosts is ahead of ours: the largest difference of each service. */
  skews(): Map<string, number> {
    const skews = new Map<string, number>();
    const now = processNow();
    for (const { prefix, skewMs, heardAt } of this.callers.values()) {
      if (skewMs === undefined || now - heardAt >= silenceMs) continue;
      const service = callerOf(prefix);
      if (Math.abs(skewMs) >= Math.abs(skews.get(service) ?? 0)) skews.set(service, skewMs);
    }
    return skews;
  }

  private async measureNow(caller: Caller): Promise<void> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const asked = processNow();
      const reply = await this.ask(caller.prefix);
      if (reply === 'gone') {
        // Should its connection come back, it is measured like one that was never heard.
        caller.isGone = true;
        this.callers.delete(caller.prefix);
        return;
      }
      if (reply === 'silent') break;
      const { reading, heard } = reply;
      if (heard - asked > maxRoundTripMs && attempt < maxAttempts) continue;
      caller.clock.measured(asked, reading.clock, heard);
      // Their reading was taken half-way, give or take half of the round trip.
      this.noteSkew(caller, reading.wall - (Date.now() - (processNow() - asked) + (heard - asked) / 2));
      return;
    }
    caller.clock.unanswered(processNow());
  }

  private noteSkew(caller: Caller, skewMs: number): void {
    const wasFar = Math.abs(caller.skewMs ?? 0) > maxSkewMs;
    const isFar = Math.abs(skewMs) > maxSkewMs;
    caller.skewMs = skewMs;
    if (isFar === wasFar) return;
    const fields = { peer: callerOf(caller.prefix), aheadSeconds: Math.round(skewMs / 100) / 10 };
    if (isFar) this.logger.warn(fields, 'clocks differ by more than is promised');
    else this.logger.info(fields, 'clocks differ by no more than is promised');
  }

  private ask(prefix: string): Promise<Reply> {
    const request = String(++this.lastRequest);
    return new Promise((resolve) => {
      let stepsLeft = patienceSteps;
      // Several timers: after a pause of this process the first is overdue, and the answer is read before the next.
      const step = (): void => {
        if (--stepsLeft === 0) settle('silent');
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
        this.nats.connection.publish(clockRequestSubject(prefix), encodeFrame(frameKinds.clockRequest, []), {
          reply: `${this.prefix}.${request}`,
        });
      } catch (error) {
        this.logger.warn({ err: error, peer: callerOf(prefix) }, 'clock not asked for');
        settle('silent');
      }
    });
  }

  private receive(message: Msg): void {
    const heard = processNow();
    const settle = this.waiting.get(message.subject.slice(this.prefix.length + 1));
    if (!settle) return;
    // The server itself answers a request that nobody listens for: an empty message with status 503.
    if (message.data.length === 0 && message.headers?.code === 503) {
      settle('gone');
      return;
    }
    const { kind, entries } = decodeFrame<Partial<ClockReading>>(message.data);
    const reading = entries[0]?.meta;
    if (kind !== frameKinds.clockReading || !reading) return;
    checkClockReading(reading);
    settle({ reading, heard });
  }
}
