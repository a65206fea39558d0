import type { ErrorKind, ProblemCode } from './errors.js';

/** An attempt of a call, as hooks see it: without credential, headers, ids, query and body, so that all of it may be logged. */
export interface Attempt {
  /** Method and path as in the API reference: `GET /store/order/{orderId}`. */
  readonly operation: string;
  /** The number of the call among the calls of this shop, the same for each of its attempts. */
  readonly call: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

export interface AnsweredAttempt extends Attempt {
  readonly status: number;
  /** From sending the request until the headers of the answer. */
  readonly durationMs: number;
  /** Identifies the request in the shop's logs. */
  readonly requestId: string | undefined;
}

export interface FailedAttempt extends Attempt {
  /** The code of the shop's problem, or the kind of another error. */
  readonly reason: ProblemCode | ErrorKind;
  /** The pause before the next attempt. */
  readonly pauseMs: number;
}

/** Functions that follow the calls of a shop, for logs, metrics and traces. What they throw is reported as uncaught, and changes no call. */
export interface Hooks {
  /** Called before each attempt is sent. */
  readonly onRequest?: (attempt: Attempt) => void;
  /** Called when an attempt is answered, also with a problem; not when the connection is lost. */
  readonly onResponse?: (answer: AnsweredAttempt) => void;
  /** Called before the pause after which a call is repeated. */
  readonly onRetry?: (failure: FailedAttempt) => void;
}

export function tell<Event>(hook: ((event: Event) => void) | undefined, event: Event): void {
  try {
    hook?.(event);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
