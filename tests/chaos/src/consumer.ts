import type { ChildProcess } from 'node:child_process';
import { becomesTrue } from '@plant-shop/testing/until';
import type { EventType, Follower, SeenEvent } from './history.js';
import type { JournalEntry } from './programs/follow.js';
import type { FollowingJob } from './programs/follow-events.js';
import type { BrowserFollowingJob } from './programs/follow-events-in-browser.js';
import { lastEntry, readJournal } from './programs/journal.js';
import { startProgram } from './programs/program.js';

const startLimitMs = 60_000;

/** A process that follows events with the client library. It is killed and restarted, and resumes from its saved cursor. */
export class Consumer implements Follower {
  lives = 0;
  /** Exits of the process other than by `kill`. */
  readonly crashes: string[] = [];
  private process: ChildProcess | undefined;
  private isOver = false;
  private entriesOfEarlierRuns = 0;

  constructor(readonly name: string, private readonly job: FollowingJob | BrowserFollowingJob) {
    this.startRun();
  }

  /** Resolves when the consumer receives every event from now on. */
  async started(): Promise<void> {
    if (!(await becomesTrue(() => this.entries.length > 0, startLimitMs))) throw new Error(`${this.name} did not start: ${this.crashes.join('; ')}`);
  }

  get types(): readonly EventType[] | undefined {
    return this.job.types;
  }

  /** Events of Server-Sent Events have no ids; their `id` is empty here. */
  get events(): readonly SeenEvent[] {
    return this.entries.flatMap(({ event }) => {
      if (!event) return [];
      return [{ id: event.id ?? '', body: JSON.stringify({ ...event, id: undefined, cursor: undefined }) }];
    });
  }

  get gaps(): readonly string[] {
    return this.entries.flatMap(({ gap }) => gap ?? []);
  }

  /** The process is restarted at once. */
  kill(): void {
    this.process?.kill('SIGKILL');
  }

  stop(): void {
    this.isOver = true;
    this.kill();
  }

  private get entries(): readonly JournalEntry[] {
    return readJournal(this.job.journal);
  }

  /** Whether the process has handled anything since its last start. */
  get hasHandled(): boolean {
    return this.entries.length > this.entriesOfEarlierRuns;
  }

  /** Whether it saves a cursor before it handles the event that follows, and so must get that event again when it is killed in between. */
  get savesCursorFirst(): boolean {
    return this.job.savesCursorOf === 'loop';
  }

  /** Whether it has saved a cursor and not yet handled the event that follows. */
  get isHandling(): boolean {
    const last = lastEntry(this.job.journal);
    return last?.savedCursor !== undefined && last.event === undefined && last.gap === undefined;
  }

  private startRun(): void {
    this.lives += 1;
    this.entriesOfEarlierRuns = this.entries.length;
    this.process = startProgram('browser' in this.job ? 'follow-events-in-browser' : 'follow-events', this.job);
    this.process.once('exit', (code, signal) => {
      if (signal !== 'SIGKILL') this.crashes.push(`life ${this.lives} ended with ${signal ?? code ?? '?'}`);
      // A process that crashes at once must not be restarted in a busy loop.
      if (!this.isOver) setTimeout(() => this.startRun(), signal === 'SIGKILL' ? 0 : 500);
    });
  }
}
