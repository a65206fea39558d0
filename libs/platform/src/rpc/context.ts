import { createHash, createHmac } from 'node:crypto';
import { open, seal } from '../cipher.js';
import { CodedError } from '../errors.js';

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

/**
 * A client's Idempotency-Key and the request that it was sent with. The database stores the key's hash, an HMAC of the request and
 * the encrypted answer, both under the key: without the key, a reader of the database learns nothing about the request.
 */
export class IdempotencyKey {
  /** Identifies the row. Includes the principal: two principals may use the same key. */
  readonly hash: Buffer;
  /**
   * HMAC of operation and payload: the key may only be repeated with the same request. So every release of the gateway composes the same bytes
   * for it: it adds a member only for what clients cannot send to an older release. Where it must, the service takes `forRequest`.
   */
  readonly fingerprint: Buffer;
  private readonly otherFingerprints: readonly Buffer[];
  private readonly answerKey: Buffer;

  constructor(
    private readonly subject: string,
    private readonly key: string,
    private readonly operation: string,
    payload: Uint8Array,
    alternatives: readonly Uint8Array[] = [],
  ) {
    this.hash = createHash('sha256').update(`${subject}\n${key}`).digest();
    const fingerprintOf = (bytes: Uint8Array): Buffer => createHmac('sha256', key).update(`request\n${operation}\n`).update(bytes).digest();
    this.fingerprint = fingerprintOf(payload);
    this.otherFingerprints = alternatives.map(fingerprintOf);
    this.answerKey = createHmac('sha256', key).update(`answer\n${subject}`).digest();
  }

  /**
   * Returns the same key with a fingerprint of `request` instead of the payload. For a call that completes earlier ones, whose payload
   * holds an id that differs when the whole sequence is repeated.
   * @param alternatives other serialisations under which the answer to the same request may have been saved
   */
  forRequest(request: Uint8Array, alternatives: readonly Uint8Array[] = []): IdempotencyKey {
    return new IdempotencyKey(this.subject, this.key, this.operation, request, alternatives);
  }

  /** The hash as text: equal for the same key of the same principal. */
  get id(): string {
    return this.hash.toString('hex');
  }

  /** The id of an advisory lock: requests with the same key wait for each other, and rarely those of another key with the same 64 bits. */
  get lockId(): string {
    return this.hash.readBigInt64BE(0).toString();
  }

  /** Encrypts an answer under the key. */
  seal(answer: unknown): Buffer {
    return seal(this.answerKey, JSON.stringify(answer), 'last');
  }

  /**
   * Decrypts a saved answer.
   * @throws CodedError `idempotency-key-reused` when the answer was saved for another request
   */
  open(fingerprint: Buffer, sealed: Buffer): unknown {
    if (![this.fingerprint, ...this.otherFingerprints].some((one) => one.equals(fingerprint))) throw keyReused();
    return JSON.parse(open(this.answerKey, sealed, 'last'));
  }
}

const keyReused = (): CodedError =>
  new CodedError(
    'idempotency-key-reused',
    'This Idempotency-Key was already used for a different request. Use a new key for each request, and the same key only to repeat it.',
  );
