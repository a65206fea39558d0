import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from '../logging.js';
import { maxTimerMs } from '../rpc/context.js';
import { failureOf, tracing } from '../telemetry/tracing.js';

export interface LoopOptions {
  readonly name: string;
  /** Pause after a run that returned false or failed. */
  readonly intervalMs: number;
  /** False for a loop whose runs have no cause to trace: they get no span, nor does what their listeners do. */
  readonly isTraced?: boolean;
}

/**
 * Background work, one run at a time. A failed run is logged and repeated after the interval. `notify` does not hurry the repetition:
 * while the database is unreachable, every request would notify the loop and add one more failure to the log.
 */
export class BackgroundLoop implements OnApplicationBootstrap, OnApplicationShutdown {
  protected stopped = false;
  private notified = false;
  private wake: (() => void) | undefined;
  private running: Promise<void> | undefined;

  constructor(
    protected readonly options: LoopOptions,
    /** One run. Returns true to run again at once, false to pause for the interval, or the pause in milliseconds. */
    readonly run: () => Promise<boolean | number>,
    protected readonly logger: Logger,
  ) {}

  /** As a provider of a Nest module, the loop starts and stops with the app. */
  onApplicationBootstrap(): void | Promise<void> {
    this.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.stop();
  }

  start(): void {
    this.running ??= this.loop();
  }

  /** Ends the pause, or makes the loop run again right after the current run. */
  notify(): void {
    this.notified = true;
    this.wake?.();
  }

  /** Stops the loop for good. Resolves when the current run has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.wake?.();
    await this.running;
  }

  private async loop(): Promise<void> {
    while (!this.stopped) {
      this.notified = false;
      try {
        const next = await this.runOnce();
        if (next === true) continue;
        await this.pause(next === false ? this.options.intervalMs : next, () => this.stopped || this.notified);
      } catch (error) {
        this.logger.warn({ err: error, loop: this.options.name }, 'background run failed, trying again');
        await this.pause(this.options.intervalMs, () => this.stopped);
      }
    }
  }

  /** Runs once, in a span that is only exported if the run calls `tracing.causedBy` or fails. */
  private async runOnce(): Promise<boolean | number> {
    const span = this.options.isTraced === false ? undefined : tracing?.beginRun(this.options.name);
    if (!span) return this.run();
    try {
      const next = await span.run(this.run);
      span.end();
      return next;
    } catch (error) {
      span.end(failureOf(error));
      throw error;
    }
  }

  private async pause(pauseMs: number, isOver: () => boolean): Promise<void> {
    if (isOver()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(pauseMs, maxTimerMs));
      this.wake = () => {
        if (!isOver()) return;
        clearTimeout(timer);
        resolve();
      };
    });
    this.wake = undefined;
  }
}
