/** A callback that does nothing. */
export const nothing = (): void => undefined;

/** Reads `aborted` afresh: after an `await` the compiler would assume the value from before it. */
export const isAborted = (signal: AbortSignal): boolean => signal.aborted;

/** A signal that aborts with the caller's signal or after a time. `close` removes its timer and listener. */
export class Limit {
  private readonly controller = new AbortController();
  private readonly timer: ReturnType<typeof setTimeout> | undefined;
  private readonly end: number;
  private readonly onAbort = (): void => this.controller.abort(this.parent?.reason);

  constructor(
    private readonly parent: AbortSignal | undefined,
    ms = Infinity,
  ) {
    parent?.throwIfAborted();
    parent?.addEventListener('abort', this.onAbort);
    this.end = performance.now() + ms;
    // Node fires timers with longer delays at once.
    if (ms < 2 ** 31) this.timer = setTimeout(() => this.controller.abort(new Error('deadline')), ms);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get leftMs(): number {
    return this.end - performance.now();
  }

  /** Aborts the signal with the given reason. */
  abort(reason: unknown): void {
    this.controller.abort(reason);
  }

  close(): void {
    clearTimeout(this.timer);
    this.parent?.removeEventListener('abort', this.onAbort);
  }
}

/** Resolves after a time. Rejects with the signal's reason when it aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return orAborted(signal, (resolve) => {
    const timer = setTimeout(resolve, ms);
    return () => clearTimeout(timer);
  });
}

/** Waits for shared work. An abort ends the waiting, not the work. */
export function waitFor<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return orAborted(signal, (resolve, reject) => {
    work.then(resolve, reject);
    return nothing;
  });
}

/** @param begin returns a clean-up function */
function orAborted<T>(signal: AbortSignal, begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    let cleanUp: () => void = nothing;
    const settled = <Args extends unknown[]>(then: (...args: Args) => void) => (...args: Args): void => {
      signal.removeEventListener('abort', onAbort);
      cleanUp();
      then(...args);
    };
    const onAbort = settled(() => reject(signal.reason as Error));
    signal.addEventListener('abort', onAbort);
    cleanUp = begin(settled(resolve), settled(reject));
  });
}
