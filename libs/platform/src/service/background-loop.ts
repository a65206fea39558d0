import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from '../logging.js';
import { maxTimerMs } from '../rpc/deadline.js';
import { failureOf, tracing } from '../telemetry/tracing.js';

export interface LoopOptions {
  readonly name: string;
  /** Pause after a run that found nothing more to do and does not say when there will be, or that failed. */
  readonly intervalMs: number;
}

/**
 * Work that goes on by itself, one run at a time. A run returns whether there is more to do at once, or in how many
 * milliseconds to look again; a run that fails is logged and repeated after the interval, since what it works on is rows that are still there.
 * Poking does not hurry that: while the database is away, every request would poke one more failure into the log.
 */
export class BackgroundLoop implements OnApplicationBootstrap, OnApplicationShutdown {
  private stopped = false;
  private poked = false;
  private wake: (() => void) | undefined;
  private running: Promise<void> | undefined;

  constructor(
    private readonly options: LoopOptions,
    /** One round of the work. */
    readonly run: () => Promise<boolean | number>,
    protected readonly logger: Logger,
  ) {}

  /** As a provider of a Nest module, it goes on for as long as the app does. */
  onApplicationBootstrap(): void {
    this.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.stop();
  }

  start(): void {
    this.running ??= this.loop();
  }

  /** Runs as soon as the present run, if any, has ended. */
  poke(): void {
    this.poked = true;
    this.wake?.();
  }

  /** Resolves when the run under way has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.wake?.();
    await this.running;
  }

  private async loop(): Promise<void> {
    while (!this.stopped) {
      this.poked = false;
      try {
        const next = await this.runOnce();
        if (next === true) continue;
        await this.pause(next === false ? this.options.intervalMs : next, () => this.stopped || this.poked);
      } catch (error) {
        this.logger.warn({ err: error, loop: this.options.name }, 'background run failed, trying again');
        await this.pause(this.options.intervalMs, () => this.stopped);
      }
    }
  }

  /** What it finds to do it says by `tracing.causedBy`: then the run is a trace. */
  private async runOnce(): Promise<boolean | number> {
    const span = tracing?.beginRun(this.options.name);
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
