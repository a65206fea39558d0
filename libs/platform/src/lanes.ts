import { isDataError } from './postgres/sqlstate.js';

export interface LanesOptions {
  readonly count: number;
  readonly maxBatch: number;
}

interface Waiting<Request, Result> {
  readonly request: Request;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Results in the order of the requests; an Error among them rejects its own request only. */
export type RunBatch<Request, Result> = (requests: readonly Request[]) => Promise<readonly (Result | Error)[]>;

/**
 * Joins requests into batches without a timer: what comes in while a lane's batch is under way forms its next one, and a
 * request alone waits only for the end of its turn of the event loop. Requests with the same key use the same lane and
 * keep their order of arrival.
 *
 * When a batch fails on its data (SQLSTATE classes 22 and 23), it is run again in halves, so that one bad request never
 * fails its neighbours. Every other failure is that of all requests of the batch.
 */
export class Lanes<Request, Result> {
  private readonly lanes = new Map<number, Lane<Request, Result>>();

  constructor(
    private readonly options: LanesOptions,
    private readonly run: RunBatch<Request, Result>,
  ) {}

  submit(key: number, request: Request): Promise<Result> {
    const number = key % this.options.count;
    let lane = this.lanes.get(number);
    if (!lane) {
      lane = new Lane(this.options.maxBatch, this.run);
      this.lanes.set(number, lane);
    }
    return lane.submit(request);
  }

  /** Requests that wait for a batch. */
  get waiting(): number {
    return [...this.lanes.values()].reduce((sum, lane) => sum + lane.queue.length, 0);
  }
}

class Lane<Request, Result> {
  readonly queue: Waiting<Request, Result>[] = [];
  private busy = false;

  constructor(
    private readonly maxBatch: number,
    private readonly run: RunBatch<Request, Result>,
  ) {}

  submit(request: Request): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.queue.push({ request, resolve, reject });
      if (this.busy) return;
      this.busy = true;
      setImmediate(() => void this.work());
    });
  }

  private async work(): Promise<void> {
    while (this.queue.length > 0) await this.settle(this.queue.splice(0, this.maxBatch));
    this.busy = false;
  }

  private async settle(batch: readonly Waiting<Request, Result>[]): Promise<void> {
    try {
      const results = await this.run(batch.map((one) => one.request));
      batch.forEach((one, n) => {
        const result = results[n] as Result | Error;
        if (result instanceof Error) one.reject(result);
        else one.resolve(result);
      });
    } catch (error) {
      if (batch.length === 1 || !isDataError(error)) {
        for (const one of batch) one.reject(error);
        return;
      }
      const middle = batch.length >> 1;
      await this.settle(batch.slice(0, middle));
      await this.settle(batch.slice(middle));
    }
  }
}
