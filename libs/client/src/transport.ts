import { Limit, sleep } from './abort.js';
import { bodyOf, lost, type ParseAs } from './answers.js';
import type { TokenSource } from './credentials.js';
import { DeadlinePassed, type ErrorKind, type ProblemCode, ShopError, ShopProblem } from './errors.js';
import { type Attempt, type Hooks, tell } from './hooks.js';
import { mayRepeat, pauseMs } from './repeat.js';

/** A request, with the properties that decide whether it may be repeated. */
export interface Call {
  /** For messages: `POST /store/order`. */
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body?: RequestInit['body'];
  readonly parseAs: ParseAs;
  /** Its effect when repeated: none (`none`), the same as once (`once`: it has an Idempotency-Key), or another (`each`). */
  readonly effect: 'none' | 'once' | 'each';
  readonly deadlineMs: number;
  /** How often it is repeated at most. */
  readonly retries?: number | undefined;
  readonly signal: AbortSignal | undefined;
}

export interface Answer {
  readonly data: unknown;
  readonly response: Response;
}

const reasonOf = (error: ShopError): ProblemCode | ErrorKind => (error instanceof ShopProblem ? (error.code as ProblemCode) : error.kind);

/** Whether the shop refused the credential, before it looked at the call. */
const isOfCredential = (error: ShopError): boolean => error instanceof ShopProblem && (error.status === 401 || error.status === 403);

/** Sends calls, and repeats them where that is safe. */
export class Transport {
  constructor(
    private readonly fetch: typeof globalThis.fetch,
    private readonly credential: TokenSource | undefined,
    private readonly hooks: Hooks = {},
  ) {}

  private calls = 0;

  /** @throws ShopError; the reason of the call's signal if it aborts */
  async send(call: Call): Promise<Answer> {
    const limit = new Limit(call.signal, call.deadlineMs);
    try {
      return await this.untilAnswered(call, limit);
    } catch (error) {
      call.signal?.throwIfAborted();
      if (error instanceof ShopError) {
        const key = call.headers.get('idempotency-key');
        if (key !== null) error.idempotencyKey = key;
        if (call.effect === 'none' && error.outcome === 'unknown') error.outcome = 'not-done';
      }
      throw error;
    } finally {
      limit.close();
    }
  }

  private async untilAnswered(call: Call, limit: Limit): Promise<Answer> {
    let wasRenewed = false;
    /** Whether an earlier attempt may have taken effect. */
    let isUnknown = false;
    let failures = 0;
    this.calls += 1;
    const about = { operation: call.name, call: this.calls };
    for (let attempt = 1; ; attempt += 1) {
      let token: string | undefined;
      let wasSent = false;
      try {
        token = await this.credential?.token(limit.signal);
        wasSent = true;
        return await this.attempt(call, limit, token, { ...about, attempt });
      } catch (caught) {
        const overdue = (cause: unknown): DeadlinePassed =>
          new DeadlinePassed(call.name, call.deadlineMs, { outcome: wasSent || isUnknown ? 'unknown' : 'not-done', cause });
        // An answer that came late is still one.
        const isRefusal = caught instanceof ShopProblem && !mayRepeat(caught, call.effect !== 'each');
        if (limit.signal.aborted && !isRefusal) throw overdue(caught);
        if (!(caught instanceof ShopError)) throw caught;
        if (caught instanceof ShopProblem && caught.status === 401 && token !== undefined && !wasRenewed && this.credential?.refused(token)) {
          wasRenewed = true;
          tell(this.hooks.onRetry, { ...about, attempt, reason: reasonOf(caught), pauseMs: 0 });
          continue;
        }
        isUnknown ||= caught.outcome === 'unknown';
        const pause = pauseMs(caught.retryAfterMs, failures, Math.random());
        if (!mayRepeat(caught, call.effect !== 'each') || pause >= limit.leftMs || failures >= (call.retries ?? Infinity)) {
          // With a key, a refusal shows that no earlier attempt took effect, since its answer would have been replayed. `not-done` does not, nor
          // what the shop says of the credential before it looks for an answer.
          if (isUnknown && (caught.outcome === 'not-done' || isOfCredential(caught))) caught.outcome = 'unknown';
          throw caught;
        }
        failures += 1;
        tell(this.hooks.onRetry, { ...about, attempt, reason: reasonOf(caught), pauseMs: pause });
        await sleep(pause, limit.signal).catch((cause: unknown) => {
          throw overdue(cause);
        });
      }
    }
  }

  private async attempt(call: Call, limit: Limit, token: string | undefined, about: Attempt): Promise<Answer> {
    const headers = new Headers(call.headers);
    if (token !== undefined) this.credential?.show(token, headers);
    const { method, body = null } = call;
    tell(this.hooks.onRequest, about);
    const begun = performance.now();
    const response = await this.fetch(call.url, { method, headers, body, signal: limit.signal, redirect: 'manual' }).catch((cause: unknown) => {
      throw lost(call.url, cause);
    });
    tell(this.hooks.onResponse, { ...about, status: response.status, durationMs: performance.now() - begun, requestId: response.headers.get('x-request-id') ?? undefined });
    return { data: await bodyOf(response, call.url, call.parseAs), response };
  }
}
