import { unavailable } from './errors.js';
import { isDataError } from './postgres/sqlstate.js';
import type { Deadline } from './rpc/deadline.js';
import { failureOf, type OpenSpan, type Tracing, tracing } from './telemetry/tracing.js';

export interface BatcherOptions {
  /** What a batch is called in traces. */
  readonly name: string;
  /** Told of each batch how many requests are in it. */
  readonly onBatch?: (requests: number) => void;
  readonly count: number;
  readonly maxBatch: number;
  /** Whether the next batch waits for those who were just answered: for requests whose clients ask again at once. */
  readonly lingers?: boolean;
}

interface Waiting<Request, Result> {
  readonly request: Request;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  /** What it is submitted for; absent when that is not traced. */
  readonly span: OpenSpan | undefined;
}

/** Results in the order of the requests; an Error among them rejects its own request only. */
export type RunBatch<Request, Result> = (requests: readonly Request[]) => Promise<readonly (Result | Error)[]>;

/** Leaves out who waited in the lane past their deadline: they were told that the outcome is unknown, and the kindest is none. */
export function dropExpired<Request extends { readonly deadline: Deadline }, Result>(
  service: string,
  run: RunBatch<Request, Result>,
): RunBatch<Request, Result> {
  return async (batch) => {
    const waiting = batch.filter((one) => !one.deadline.isPast);
    const results = waiting.length === 0 ? [] : await run(waiting);
    const resultOf = new Map(waiting.map((one, n) => [one, results[n]]));
    return batch.map((one) => resultOf.get(one) ?? unavailable(service));
  };
}

/** Fewer than that are not waited for: a request alone, or beside another one, is not later for the batches of others. */
const fewestGathered = 4;
const maxGatheringMs = 5;

/**
 * Joins requests into batches: what comes in while a lane's batch is under way forms its next one, and a request alone waits
 * only for the end of its turn of the event loop. Where lanes gather and several are under way, the next batch begins when as
 * many wait as there were, or when they have been waited for as long as the last one took: otherwise two halves take turns,
 * each a batch that costs nearly as much as one of all. Requests with the same key use the same lane and keep their order of
 * arrival.
 *
 * When a batch fails on its data (SQLSTATE classes 22 and 23), it is run again in halves, so that one bad request never
 * fails its neighbours. Every other failure is that of all requests of the batch.
 */
export class Batcher<Request, Result> {
  private readonly lanes = new Map<number, Lane<Request, Result>>();

  constructor(
    private readonly options: BatcherOptions,
    private readonly run: RunBatch<Request, Result>,
  ) {}

  submit(key: number, request: Request): Promise<Result> {
    const number = key % this.options.count;
    let lane = this.lanes.get(number);
    if (!lane) {
      lane = new Lane(this.options, this.run);
      this.lanes.set(number, lane);
    }
    return lane.submit(request);
  }

  /** Requests that wait for a batch. */
  get waiting(): number {
    return [...this.lanes.values()].reduce((sum, lane) => sum + lane.queue.length, 0);
  }
}

const requestsOf = <Request>(batch: readonly { readonly request: Request }[]): Request[] => batch.map((one) => one.request);

class Lane<Request, Result> {
  readonly queue: Waiting<Request, Result>[] = [];
  private busy = false;
  private gathering: { readonly enough: number; readonly end: () => void } | undefined;

  constructor(
    private readonly options: BatcherOptions,
    private readonly run: RunBatch<Request, Result>,
  ) {}

  submit(request: Request): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.queue.push({ request, resolve, reject, span: tracing?.active });
      if (this.gathering && this.queue.length >= this.gathering.enough) this.gathering.end();
      if (this.busy) return;
      this.busy = true;
      setImmediate(() => void this.work());
    });
  }

  private async work(): Promise<void> {
    while (this.queue.length > 0) {
      const batch = this.queue.splice(0, this.options.maxBatch);
      this.options.onBatch?.(batch.length);
      const begun = performance.now();
      await this.settle(batch);
      await this.gather(batch.length + this.queue.length, performance.now() - begun);
    }
    this.busy = false;
  }

  /** @param underWay who was answered just now and who waits already */
  private async gather(underWay: number, limitMs: number): Promise<void> {
    const enough = Math.min(underWay, this.options.maxBatch);
    if (!this.options.lingers || underWay < fewestGathered || this.queue.length >= enough) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(limitMs, maxGatheringMs));
      const end = (): void => {
        clearTimeout(timer);
        // The others of this turn come along.
        setImmediate(resolve);
      };
      this.gathering = { enough, end };
    });
    this.gathering = undefined;
  }

  private async settle(batch: readonly Waiting<Request, Result>[]): Promise<void> {
    try {
      const results = await (tracing ? this.runTraced(tracing, batch) : this.run(requestsOf(batch)));
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

  /** A batch is part of none of its requests, and linked with all of them: a trace of its own. */
  private async runTraced(on: Tracing, batch: readonly Waiting<Request, Result>[]): Promise<readonly (Result | Error)[]> {
    const span = on.begin({
      name: this.options.name,
      kind: 'internal',
      isRoot: true,
      links: batch.map((one) => one.span?.traceparent),
      attributes: { 'messaging.batch.message_count': batch.length },
    });
    for (const one of batch) one.span?.link([span.traceparent]);
    try {
      const results = await span.run(() => this.run(requestsOf(batch)));
      span.end();
      return results;
    } catch (error) {
      span.end(failureOf(error));
      throw error;
    }
  }
}
