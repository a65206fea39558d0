import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * A fault injected into one outgoing call:
 * - `fails`: the call fails before it takes effect.
 * - `loses its answer`: it takes effect, and its answer is lost with the connection.
 * - `is never answered`: no answer arrives until the caller's own timeout.
 * - `crashes the process`: it takes effect, and the process does nothing after it.
 */
export type Fault = 'fails' | 'loses its answer' | 'is never answered' | 'crashes the process';

/** A call that leaves the process: a description for error messages, and the faults that can be injected into this kind of call. */
export interface OutgoingCall {
  readonly description: string;
  readonly faults: readonly Fault[];
}

export interface InjectedFault {
  /** The number of the call in the run, from 1. */
  readonly at: number;
  readonly fault: Fault;
}

const current = new AsyncLocalStorage<Run>();

/**
 * One execution of a use case. It includes everything in the use case's asynchronous context, across promises and turns of the
 * event loop, but no background work of the same process.
 */
export class Run {
  readonly calls: OutgoingCall[] = [];
  wasInjected = false;
  hasCrashed = false;
  private resolveCrashed!: () => void;
  /** Resolves when the process crashes. */
  readonly crashed = new Promise<void>((resolve) => (this.resolveCrashed = resolve));

  constructor(private readonly fault?: InjectedFault) {}

  /** The run of the current asynchronous context; undefined in background work. */
  static get current(): Run | undefined {
    return current.getStore();
  }

  within<T>(work: () => T): T {
    return current.run(this, work);
  }

  /** Records a call that is about to be made. @returns the fault to inject into it, if any */
  faultFor(call: OutgoingCall): Fault | undefined {
    this.calls.push(call);
    if (this.calls.length !== this.fault?.at) return undefined;
    this.wasInjected = true;
    return this.fault.fault;
  }

  private resolveReleased!: () => void;
  private readonly released = new Promise<void>((resolve) => (this.resolveReleased = resolve));

  /** Simulates the end of the process: nothing of this run leaves it any more. */
  crash(): void {
    this.hasCrashed = true;
    this.resolveCrashed();
  }

  /**
   * Hangs, like any work of a crashed process. Rejects after `release`, when the process has lost all its connections, so that its
   * loops end.
   */
  async hangUntilReleased(): Promise<never> {
    await this.released;
    throw new Error('this process has crashed');
  }

  /** Ends everything that hangs, once the crashed process has lost its connections. */
  release(): void {
    this.resolveReleased();
  }
}
