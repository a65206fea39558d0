import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { until } from './clock.js';
import type { EventType, Follower, SeenEvent } from './history.js';
import type { Entry, FollowingJob } from './programs/follow-events.js';
import { startProgram } from './programs/program.js';

const startLimitMs = 60_000;

/** A process that follows events with the client library. It is killed and started again, and resumes from the position that it kept. */
export class Consumer implements Follower {
  lives = 0;
  /** Lives that ended without being killed. */
  readonly crashes: string[] = [];
  private process: ChildProcess | undefined;
  private isOver = false;
  private entriesBefore = 0;

  constructor(readonly name: string, private readonly job: FollowingJob) {
    this.live();
  }

  /** Resolves when it gets everything from now on. */
  async begun(): Promise<void> {
    if (!(await until(() => this.entries.length > 0, startLimitMs))) throw new Error(`${this.name} did not begin: ${this.crashes.join('; ')}`);
  }

  get types(): readonly EventType[] | undefined {
    return this.job.types;
  }

  /** By Server-Sent Events they have no ids. */
  get events(): readonly SeenEvent[] {
    return this.entries.flatMap(({ event }) => {
      if (!event) return [];
      return [{ id: event.id ?? '', body: JSON.stringify({ ...event, id: undefined, cursor: undefined }) }];
    });
  }

  get gaps(): readonly string[] {
    return this.entries.flatMap(({ gap }) => gap ?? []);
  }

  /** The next life begins at once. */
  kill(): void {
    this.process?.kill('SIGKILL');
  }

  stop(): void {
    this.isOver = true;
    this.kill();
  }

  private get entries(): readonly Entry[] {
    if (!existsSync(this.job.journal)) return [];
    // What is written at this moment has no end of line yet.
    return readFileSync(this.job.journal, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line) as Entry);
  }

  /** Whether it has handled anything in this life. */
  get hasHandled(): boolean {
    return this.entries.length > this.entriesBefore;
  }

  private live(): void {
    this.lives += 1;
    this.entriesBefore = this.entries.length;
    this.process = startProgram('follow-events', this.job);
    this.process.once('exit', (code, signal) => {
      if (signal !== 'SIGKILL') this.crashes.push(`life ${this.lives} ended with ${signal ?? code ?? '?'}`);
      // Whoever crashes at once must not take all of the machine.
      if (!this.isOver) setTimeout(() => this.live(), signal === 'SIGKILL' ? 0 : 500);
    });
  }
}
