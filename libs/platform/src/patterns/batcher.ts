import { theService, unavailable } from '../errors.js';
import { isDataError } from '../postgres/sqlstate.js';
import type { Deadline } from '../rpc/context.js';
import { failureOf, type OpenSpan, type Tracing, tracing } from '../telemetry/tracing.js';

export interface BatcherOptions<Request> {
  /** The name of a batch's span. */
  readonly name: string;
  /** Called before each batch with its size. */
  readonly onBatch?: (size: number) => void;
  /** Number of lanes: batches that may run at the same time. */
  readonly lanes: number;
  /** The most requests of a batch. */
  readonly maxBatch: number;
  /** How much a request adds to its batch's size, and the size with which a batch also ends; absent: the number of requests. */
  readonly size?: { readonly of: (request: Request) => number; readonly max: number };
  /** Whether a lane waits a few milliseconds after a batch, for clients that send their next request as soon as they are answered. */
  readonly lingers?: boolean;
}

interface QueuedRequest<Request, Result> {
  readonly request: Request;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  /** The span that submitted the request; undefined when it is not traced. */
  readonly span: OpenSpan | undefined;
}

/** Returns the results in the order of the requests. An Error among them rejects its own request only. */
export type RunBatch<Request, Result> = (requests: readonly Request[]) => Promise<readonly (Result | Error)[]>;

/** Drops requests whose deadline passed in the queue: their callers already received `outcome-unknown`. Answers `unavailable`. */
export function dropExpired<Request extends { readonly deadline: Deadline }, Result>(
  service: string,
  run: RunBatch<Request, Result>,
): RunBatch<Request, Result> {
  return async (batch) => {
    const live = batch.filter((one) => !one.deadline.isPast);
    if (live.length === batch.length) return run(batch);
    const results = live.length === 0 ? [] : await run(live);
    const resultOf = new Map(live.map((one, n) => [one, results[n]]));
    return batch.map((one) => resultOf.get(one) ?? unavailable(theService(service)));
  };
}

/** With fewer clients a lane does not linger, so that a few requests never wait for others. */
const minToLinger = 4;
const maxLingerMs = 5;

/**
 * Joins requests into batches. Requests with the same key use the same lane and keep their order of arrival. Requests that arrive
 * while a lane's batch runs form its next one; into an idle lane, all requests of one turn of the event loop form a batch.
 *
 * With `lingers`, a lane counts its clients after each batch: the requests just answered plus those queued. With 4 clients or more, it
 * starts the next batch once it has a request of each, at most `maxBatch`. It waits no longer than the last batch took, and at most
 * 5 ms. Otherwise two halves of the clients would take turns, in batches that each cost nearly as much as one of all clients. With
 * `maxBatch` requests queued it does not wait, so twice as many clients do take turns, in full batches.
 *
 * A batch that fails on its data (SQLSTATE classes 22 and 23) is run again in halves, so that an invalid request fails alone. Every
 * other failure rejects all requests of the batch.
 */
export class Batcher<Request, Result> {
  private readonly lanes = new Map<number, Lane<Request, Result>>();

  constructor(
    private readonly options: BatcherOptions<Request>,
    private readonly run: RunBatch<Request, Result>,
  ) {}

  submit(key: number, request: Request): Promise<Result> {
    const number = key % this.options.lanes;
    let lane = this.lanes.get(number);
    if (!lane) {
      lane = new Lane(this.options, this.run);
      this.lanes.set(number, lane);
    }
    return lane.submit(request);
  }

  /** Number of requests that wait for a batch. */
  get waiting(): number {
    return [...this.lanes.values()].reduce((sum, lane) => sum + lane.queue.length, 0);
  }
}

const requestsOf = <Request>(batch: readonly { readonly request: Request }[]): Request[] => batch.map((one) => one.request);

/** A queue whose batches run one at a time. */
class Lane<Request, Result> {
  readonly queue: QueuedRequest<Request, Result>[] = [];
  private isRunning = false;
  private lingering: { readonly enough: number; readonly end: () => void } | undefined;

  constructor(
    private readonly options: BatcherOptions<Request>,
    private readonly run: RunBatch<Request, Result>,
  ) {}

  submit(request: Request): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.queue.push({ request, resolve, reject, span: tracing?.active });
      if (this.lingering && this.queue.length >= this.lingering.enough) this.lingering.end();
      if (this.isRunning) return;
      this.isRunning = true;
      setImmediate(() => void this.runBatches());
    });
  }

  private async runBatches(): Promise<void> {
    while (this.queue.length > 0) {
      const { batch, size } = this.takeBatch();
      this.options.onBatch?.(size);
      const startedAt = performance.now();
      await this.settle(batch);
      await this.linger(batch.length + this.queue.length, performance.now() - startedAt);
    }
    this.isRunning = false;
  }

  private takeBatch(): { batch: QueuedRequest<Request, Result>[]; size: number } {
    const { maxBatch, size = { of: () => 1, max: maxBatch } } = this.options;
    let count = 0;
    let sum = 0;
    for (const { request } of this.queue) {
      count++;
      sum += size.of(request);
      if (count >= maxBatch || sum >= size.max) break;
    }
    return { batch: this.queue.splice(0, count), size: sum };
  }

  /** @param clients number of requests that were just answered, plus those still queued */
  private async linger(clients: number, limitMs: number): Promise<void> {
    const enough = Math.min(clients, this.options.maxBatch);
    if (!this.options.lingers || clients < minToLinger || this.queue.length >= enough) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(limitMs, maxLingerMs));
      const end = (): void => {
        clearTimeout(timer);
        // Includes the other requests of this turn.
        setImmediate(resolve);
      };
      this.lingering = { enough, end };
    });
    this.lingering = undefined;
  }

  private async settle(batch: readonly QueuedRequest<Request, Result>[]): Promise<void> {
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

  /** Runs a batch in a trace of its own, linked with the spans of all its requests. */
  private async runTraced(on: Tracing, batch: readonly QueuedRequest<Request, Result>[]): Promise<readonly (Result | Error)[]> {
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
