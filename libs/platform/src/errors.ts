/** One invalid field: an RFC 6901 JSON pointer into the payload, and a text that says what to change. */
export interface FieldError {
  readonly pointer: string;
  readonly detail: string;
}

/** One invalid part of a request outside its body: a path or query parameter, or a header. */
export type RequestError =
  | { readonly parameter: string; readonly detail: string }
  | { readonly header: string; readonly detail: string };

/** Details of an error beside its text. Each code may add its own members (`available`, `orders`, …). */
export interface ErrorDetails {
  /** `RequestError` occurs only in the gateway: services receive nothing but payloads. */
  readonly errors?: readonly (FieldError | RequestError)[];
  readonly [member: string]: unknown;
}

/**
 * Codes of the platform. The codes of the services are in `libs/contracts`.
 *
 * - `unavailable`: nothing happened; the caller may try again.
 * - `outcome-unknown`: the request was sent and no answer came, or the connection was lost during a COMMIT. Never retried blindly.
 */
export type PlatformCode =
  | 'invalid-input'
  | 'invalid-cursor'
  | 'idempotency-key-reused'
  | 'unavailable'
  | 'outcome-unknown'
  | 'overloaded'
  | 'malformed-batch'
  | 'unknown-operation'
  | 'payload-too-large'
  | 'internal';

/** An error that may be sent to callers: a stable code, a text that says what the caller can do, and details. */
export class CodedError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly details: ErrorDetails = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'CodedError';
  }
}

export const invalidInput = (errors: readonly FieldError[]): CodedError =>
  new CodedError('invalid-input', 'Correct the fields named in errors and send the request again.', { errors });

/** Returns how texts name a service: "The store service". */
export const theService = (name: string): string => `The ${name} service`;

/**
 * Returns the error for a request that had no effect: unreachable, timed out before it began, or rolled back (lock and statement
 * timeouts, repeated deadlocks).
 * @param what begins the text, with its article: "The database", `theService('store')`
 */
export const unavailable = (what: string, cause?: unknown): CodedError =>
  new CodedError('unavailable', `${what} cannot be reached or did not respond in time. Nothing happened; try again.`, {}, { cause });

/**
 * Returns the error for a request whose answer was lost. The text also suits operations that take no Idempotency-Key.
 * @param what begins the text, as in `unavailable`
 */
export const outcomeUnknown = (what: string, cause?: unknown): CodedError =>
  new CodedError(
    'outcome-unknown',
    `${what} was sent the request, but no answer came. Check whether it took effect. ` +
      'If you sent an Idempotency-Key, you can repeat the request with the same key instead.',
    {},
    { cause },
  );

/** @param what begins the text, as in `unavailable` */
export const overloaded = (what: string): CodedError =>
  new CodedError('overloaded', `${what} is overloaded. Nothing happened; try again later.`);

const transientCodes = ['unavailable', 'outcome-unknown', 'overloaded'];

/** Whether the failure is temporary (unreachable or overloaded). Every other error is a refusal or a defect. */
export const isTransient = (error: unknown): boolean => error instanceof CodedError && transientCodes.includes(error.code);
