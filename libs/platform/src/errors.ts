/** One invalid field: an RFC 6901 JSON pointer into what the caller sent, and what to do about it. */
export interface FieldError {
  readonly pointer: string;
  readonly detail: string;
}

/** A fault outside of a body, where no pointer leads: of a parameter of the path or query, or of a header. */
export type RequestError =
  | { readonly parameter: string; readonly detail: string }
  | { readonly header: string; readonly detail: string };

/** What an error carries beside its text. Owners add their own members (`available`, `orders`, …). */
export interface ErrorDetails {
  /** `RequestFault` only where clients are served: between services there are payloads and nothing else. */
  readonly errors?: readonly (FieldError | RequestError)[];
  readonly [member: string]: unknown;
}

/**
 * Codes that mechanisms answer with; the owners' codes are in `libs/contracts`.
 *
 * - `unavailable`: surely nothing happened; the caller may try again.
 * - `outcome-unknown`: it was sent and no answer came, or a COMMIT was lost with its connection. Never retried blindly.
 */
export const platformCodes = [
  'invalid-input',
  'invalid-cursor',
  'idempotency-key-reused',
  'unavailable',
  'outcome-unknown',
  'overloaded',
  'malformed-frame',
  'unknown-operation',
  'payload-too-large',
  'internal',
] as const;
export type PlatformCode = (typeof platformCodes)[number];

/** An error that may cross a border: a stable code, a text that says what the caller can do, and details. */
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

export const unavailable = (what: string, cause?: unknown): CodedError =>
  new CodedError('unavailable', `${what} cannot be reached. Nothing happened; try again.`, {}, { cause });

export const outcomeUnknown = (what: string, cause?: unknown): CodedError =>
  new CodedError(
    'outcome-unknown',
    `${what} took the request but its answer was lost. Look whether it took effect, or repeat it with the same Idempotency-Key.`,
    {},
    { cause },
  );

export const overloaded = (what: string): CodedError =>
  new CodedError('overloaded', `${what} has more work than it can take. Nothing happened; try again later.`);

const passingCodes = ['unavailable', 'outcome-unknown', 'overloaded'];

/** Whether somebody was away or busy, which passes; every other error is a refusal or a defect. */
export const isTransient = (error: unknown): boolean => error instanceof CodedError && passingCodes.includes(error.code);
