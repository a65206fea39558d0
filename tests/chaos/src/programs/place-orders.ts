// A program that places orders with the client library, as the library's README describes, and prints how each call ended.
import { setTimeout as sleep } from 'node:timers/promises';
import type * as Library from '@plant-shop/client';

/** The program's first argument, as JSON. */
export interface PlacingJob {
  /** URL of the built library; it may be a copy with a seeded bug. */
  readonly library: string;
  readonly url: string;
  readonly plantId: number;
  readonly orders: number;
  readonly perSecond: number;
  /** Deadline of each library call. */
  readonly deadlineMs: number;
}

/** How a library call ended; printed as one line of JSON. Times are milliseconds since the epoch. */
export interface PlacingCall {
  readonly from: number;
  readonly to: number;
  /** The Idempotency-Key that the program passed to the library. */
  readonly key?: string;
  readonly order?: { readonly id: number; readonly status: 'placed' | 'approved' | 'delivered' | 'cancelled'; readonly isReplayed: boolean };
  readonly error?: CallError;
}

interface CallError {
  /** Undefined if the error is not a ShopError. */
  readonly outcome?: Library.Outcome;
  readonly key?: string;
  readonly text: string;
}

/** Number of concurrent calls. */
const width = 16;

const job = JSON.parse(process.argv[2] ?? '') as PlacingJob;
const { createShop, ShopError } = (await import(job.library)) as typeof Library;
const shop = createShop({ url: job.url, credential: { apiKey: 'special-key' }, deadlineMs: job.deadlineMs });
// The parent process has exited.
process.stdin.on('close', () => process.exit(1)).resume();

let begun = 0;
await Promise.all(Array.from({ length: width }, work));
process.exit(0);

async function work(): Promise<void> {
  for (let n = begun++; n < job.orders; n = begun++) {
    await sleep(Math.max(0, (n * 1_000) / job.perSecond - performance.now()));
    await place();
  }
}

/** Retries until there is an order or an error that does not allow a retry. */
async function place(): Promise<void> {
  for (let key: string | undefined; ; ) {
    const error = await call(key);
    if (error?.outcome === undefined || error.outcome === 'refused') return;
    // After `not-done` the next call may be a new order; after `unknown` the key makes it the same one.
    if (error.outcome === 'unknown' && error.key === undefined) return;
    key = error.outcome === 'unknown' ? error.key : undefined;
  }
}

async function call(idempotencyKey: string | undefined): Promise<CallError | undefined> {
  const from = timestamp();
  const ended = (end: Pick<PlacingCall, 'order' | 'error'>): void => {
    const line: PlacingCall = { from, to: timestamp(), ...(idempotencyKey !== undefined && { key: idempotencyKey }), ...end };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  };
  try {
    const { data, response } = await shop.POST('/store/order', { body: { plantId: job.plantId, quantity: 1 }, ...(idempotencyKey !== undefined && { idempotencyKey }) });
    ended({ order: { id: data.id, status: data.status, isReplayed: response.headers.get('idempotency-replayed') === 'true' } });
    return undefined;
  } catch (caught) {
    const error: CallError = { text: String(caught), ...(caught instanceof ShopError && { outcome: caught.outcome, ...(caught.idempotencyKey !== undefined && { key: caught.idempotencyKey }) }) };
    ended({ error });
    return error;
  }
}

function timestamp(): number {
  return performance.timeOrigin + performance.now();
}
