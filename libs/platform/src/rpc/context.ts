import { CodedError } from '../errors.js';
import type { IdempotencyKey } from '../patterns/idempotency-key.js';

/** The host's time of day when this process started, in milliseconds since the epoch. */
const origin = performance.timeOrigin;

/**
 * Returns the process clock in milliseconds: it starts at the host's time of day and advances with the monotonic clock, so
 * setting the host's clock does not move it. Two processes' clocks differ by a constant, except for drift (parts per million) and
 * suspended hosts.
 */
export const processNow = (): number => origin + performance.now();

/** The longest delay of a Node timer, in milliseconds. A longer one fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

/**
 * The time until which an answer is useful, as a reading of this process's clock. It is sent as that reading; the receiver converts
 * it with the measured offset between the two clocks (caller-clocks.ts).
 */
export class Deadline {
  /** Process clock, rounded down to whole milliseconds: short on the wire. */
  readonly at: number;

  private constructor(at: number) {
    this.at = Math.floor(Math.min(at, processNow() + maxTimerMs));
  }

  /** @throws RangeError when the budget is NaN: such a deadline would never pass */
  static in(budgetMs: number): Deadline {
    return Deadline.at(processNow() + budgetMs);
  }

  /** @param at a reading of this process's clock */
  static at(at: number): Deadline {
    if (Number.isNaN(at)) throw new RangeError('A deadline is a number of milliseconds.');
    return new Deadline(at);
  }

  /** Remaining milliseconds; 0 once the deadline has passed. */
  get leftMs(): number {
    return Math.max(0, this.at - processNow());
  }

  get isPast(): boolean {
    return this.leftMs === 0;
  }
}

/** The account on whose behalf a call is made. The gateway derives it from credentials; services do not pass it on. */
export interface Principal {
  /** The account's id (a UUID). It is never reused after the account is deleted. */
  readonly subject: string;
  readonly permissions: readonly string[];
  /** The kinds of this account's credentials that the client presented. Some rules require a personal one in addition to permissions. */
  readonly shown: readonly string[];
  /** Their ids, in the same order; never their values. Absent in calls of an older release. */
  readonly shownIds?: readonly string[];
  /** Absent if the client presented only credentials of this account. */
  readonly otherCredentials?: readonly OtherCredential[];
}

/** A valid credential of another account that the client presented too. It permits nothing; the audit log names it. */
export interface OtherCredential {
  readonly kind: string;
  readonly id: string;
  readonly subject: string;
}

/**
 * The context that travels with a request from service to service: request id and deadline, and from the gateway the principal. A handler
 * passes its context to the calls that it makes, so one deadline bounds the whole chain.
 */
export class RpcContext {
  /** The OAuth client whose access token the principal presented: it acts for them. */
  readonly clientId: string | undefined;

  constructor(
    readonly requestId: string,
    readonly deadline: Deadline,
    /** Absent when the client presented no valid credential, or the gateway did not make the call. */
    readonly principalIfAny?: Principal,
    /** W3C Trace Context: the parent span of calls made with this context; undefined when the request is not traced. */
    readonly traceparent?: string,
    /** The Idempotency-Key of the call that is being handled, if its operation takes one. It is not passed on to other services. */
    readonly idempotency?: IdempotencyKey,
  ) {
    this.clientId = principalIfAny?.shownIds?.[principalIfAny.shown.indexOf('accessToken')];
  }

  /** @throws CodedError `internal` when the call has no principal: the gateway should have required a credential */
  get principal(): Principal {
    if (this.principalIfAny === undefined) throw new CodedError('internal', 'This operation needs a principal.');
    return this.principalIfAny;
  }

  /** Returns this context with another parent span. */
  withSpan(traceparent: string): RpcContext {
    return new RpcContext(this.requestId, this.deadline, this.principalIfAny, traceparent, this.idempotency);
  }

  has(permission: string): boolean {
    return this.principalIfAny?.permissions.includes(permission) ?? false;
  }
}
