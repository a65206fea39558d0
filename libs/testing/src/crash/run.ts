import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * What becomes of one call that leaves the process: it fails before it took effect; it takes effect and its answer is lost
 * with the connection; nobody answers, until the process' own time limit; it takes effect and is the last thing that the
 * process ever does.
 */
export type Fate = 'fails' | 'loses its answer' | 'is never answered' | 'is the last';

/** A call that left the process, by what it is for people, and what can become of its kind. */
export interface Call {
  readonly what: string;
  readonly fates: readonly Fate[];
}

export interface Strike {
  /** Which call of the run, from 1. */
  readonly at: number;
  readonly fate: Fate;
}

const current = new AsyncLocalStorage<Run>();

/**
 * One execution of a use case. Whatever it leads to, across promises and turns of the event loop, belongs to it; what the
 * same process does by itself meanwhile does not.
 */
export class Run {
  readonly calls: Call[] = [];
  isStruck = false;
  isDead = false;
  private die!: () => void;
  /** Resolves when the process is gone. */
  readonly death = new Promise<void>((resolve) => (this.die = resolve));

  constructor(private readonly strike?: Strike) {}

  get willBeStruck(): boolean {
    return this.strike !== undefined;
  }

  /** Undefined for what no use case led to. */
  static get current(): Run | undefined {
    return current.getStore();
  }

  within<T>(work: () => T): T {
    return current.run(this, work);
  }

  /** A call is about to be made. @returns what is to become of it; undefined: what becomes of all */
  meet(call: Call): Fate | undefined {
    this.calls.push(call);
    if (this.calls.length !== this.strike?.at) return undefined;
    this.isStruck = true;
    return this.strike.fate;
  }

  private clear!: () => void;
  private readonly cleared = new Promise<void>((resolve) => (this.clear = resolve));

  /** From here on nothing of this execution reaches the outside. */
  end(): void {
    this.isDead = true;
    this.die();
  }

  /** What a process waits for that is gone. It fails once the process has lost all connections, so that its loops end. */
  async never(): Promise<never> {
    await this.cleared;
    throw new Error('this process is gone');
  }

  /** All connections are lost. */
  bury(): void {
    this.clear();
  }
}
