import type { components, ProblemExtensions } from './generated/api.js';

/** Problem codes known to this version. A newer shop may send others: use `status` then. */
export type ProblemCode = components['schemas']['Problem']['code'];

/** An error in one part of a request. */
export type Fault = NonNullable<components['schemas']['Problem']['errors']>[number];

/** The extension members of problems with a code. */
export type MembersOf<Code extends ProblemCode> = Code extends keyof ProblemExtensions ? ProblemExtensions[Code] : Readonly<Record<string, unknown>>;

/**
 * What is known about the effect of a failed call.
 *
 * - `refused`: it had no effect, and the same call would be refused again.
 * - `not-done`: it had no effect. Try again later.
 * - `unknown`: it may have taken effect. Repeat it with the error's `idempotencyKey`; without one, check the state first.
 */
export type Outcome = 'refused' | 'not-done' | 'unknown';

export type ErrorKind = 'problem' | 'not-modified' | 'invalid-url' | 'unreachable' | 'not-the-shop' | 'invalid-json' | 'deadline' | 'credential' | 'stream-closed' | 'stream-not-found' | 'missing-crypto';

interface ErrorOptionsOfShop extends ErrorOptions {
  readonly outcome?: Outcome | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** Base class of all errors of this library. The reason of an aborted AbortSignal is thrown unchanged. */
export class ShopError extends Error {
  readonly kind: ErrorKind;
  outcome: Outcome;
  /** How long the shop asked to wait (`Retry-After`). */
  readonly retryAfterMs: number | undefined;
  /** The Idempotency-Key of the failed call. Repeating the call with it is safe for 24 hours. */
  idempotencyKey?: string;

  constructor(kind: ErrorKind, message: string, { outcome = 'refused', retryAfterMs, ...options }: ErrorOptionsOfShop = {}) {
    super(message, options);
    this.name = 'ShopError';
    this.kind = kind;
    this.outcome = outcome;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The body of a problem document (RFC 9457). */
export type ProblemBody = components['schemas']['Problem'];

/** The shop's answer to a call that it refused or could not carry out. */
export class ShopProblem<Code extends ProblemCode = ProblemCode> extends ShopError {
  declare readonly kind: 'problem';
  readonly code: Code;
  readonly status: number;
  /** Identifies the request in the shop's logs. */
  readonly requestId: string;
  /** The invalid fields, parameters and headers. */
  readonly errors: readonly Fault[];
  /** The problem document, including the extension members of its code. */
  readonly members: MembersOf<Code>;

  constructor(body: ProblemBody, retryAfterMs?: number) {
    const { title, status, detail, code, requestId, errors = [] } = body;
    const faults = errors.map((one) => `\n  ${one.pointer ?? one.parameter ?? one.header ?? ''} ${one.detail}`).join('');
    super('problem', `${title}: ${detail ?? `the shop answered ${status}`}${faults}`, { outcome: outcomeOf(code, status), retryAfterMs });
    this.name = 'ShopProblem';
    this.code = code as Code;
    this.status = status;
    this.requestId = requestId;
    this.errors = errors;
    this.members = body as unknown as MembersOf<Code>;
  }

  /** Whether it has this code and, of the members that some operations omit, those named. Narrows the type of `members`. */
  is<Wanted extends ProblemCode, Present extends keyof MembersOf<Wanted> & string = never>(
    code: Wanted,
    ...present: readonly Present[]
  ): this is ShopProblem<Wanted> & { readonly members: Required<Pick<MembersOf<Wanted>, Present>> } {
    const own: string = this.code;
    return own === code && present.every((name) => name in this.members);
  }
}

/** Codes of calls that had no effect and may succeed later. */
const passing: readonly ProblemCode[] = ['too-many-requests', 'too-many-logins', 'overloaded', 'unavailable', 'unknown-operation', 'request-timeout'];

function outcomeOf(code: ProblemCode, status: number): Outcome {
  if (passing.includes(code)) return 'not-done';
  return status >= 500 ? 'unknown' : 'refused';
}

/** The answer was 304, without a body: `If-None-Match` named the current version. */
export class NotModified extends ShopError {
  declare readonly kind: 'not-modified';

  constructor(readonly etag: string | null) {
    super('not-modified', 'The resource has not changed since the version in If-None-Match.');
    this.name = 'NotModified';
  }
}

/** The address cannot be the address of a shop. */
export class InvalidUrl extends ShopError {
  declare readonly kind: 'invalid-url';

  constructor(url: string) {
    super('invalid-url', `"${url}" is not the address of a shop. Use one like https://shop.example, without a path.`);
    this.name = 'InvalidUrl';
  }
}

/** The shop could not be reached, or the connection broke before the answer was complete. */
export class Unreachable extends ShopError {
  declare readonly kind: 'unreachable';

  /** @param reason the code of the system or TLS error if known, such as `ECONNREFUSED` */
  constructor(
    url: string,
    readonly reason: string,
    options: { readonly outcome: Outcome; readonly cause: unknown },
  ) {
    super('unreachable', `${url} cannot be reached (${reason}).`, options);
    this.name = 'Unreachable';
  }
}

/** The answer is not from the shop: a proxy's page, a redirect, another server at this address. */
export class NotTheShop extends ShopError {
  declare readonly kind: 'not-the-shop';

  constructor(
    url: string,
    readonly status: number,
    readonly contentType: string,
    /** The first 200 characters of the answer. */
    readonly excerpt: string,
    options: { readonly outcome: Outcome; readonly retryAfterMs?: number | undefined },
  ) {
    super('not-the-shop', `${url} answered ${status} with ${contentType || 'no content type'}, unlike the shop. Check the address, and whether a proxy is in between.`, options);
    this.name = 'NotTheShop';
  }
}

/** The answer is declared as JSON but is not. */
export class InvalidJson extends ShopError {
  declare readonly kind: 'invalid-json';

  constructor(
    url: string,
    readonly status: number,
    readonly excerpt: string,
    options: { readonly outcome: Outcome; readonly cause: unknown },
  ) {
    super('invalid-json', `${url} answered ${status} with a body that is not JSON.`, options);
    this.name = 'InvalidJson';
  }
}

/** The call's deadline passed before the answer arrived. */
export class DeadlinePassed extends ShopError {
  declare readonly kind: 'deadline';

  constructor(what: string, ms: number, options: { readonly outcome: Outcome; readonly cause?: unknown }) {
    super('deadline', `${what} got no answer within ${ms} ms.`, options);
    this.name = 'DeadlinePassed';
  }
}

/** The token endpoint refused the credential. */
export class CredentialRefused extends ShopError {
  declare readonly kind: 'credential';

  /** @param error the `error` of the token endpoint (RFC 6749), such as `invalid_client` */
  constructor(
    readonly error: string,
    message: string,
    options: ErrorOptionsOfShop = {},
  ) {
    super('credential', message, options);
    this.name = 'CredentialRefused';
  }
}

/** There is no event stream at the address. */
export class StreamNotFound extends ShopError {
  declare readonly kind: 'stream-not-found';

  constructor(origin: string, cause: unknown) {
    super('stream-not-found', `${origin} has no event stream. Give createShop its address as streamUrl, like ws://127.0.0.1:8081.`, { cause });
    this.name = 'StreamNotFound';
  }
}

/** The runtime cannot make an Idempotency-Key. The call was not sent. */
export class MissingCrypto extends ShopError {
  declare readonly kind: 'missing-crypto';

  constructor() {
    super('missing-crypto', 'This runtime has no crypto.getRandomValues. Define globalThis.crypto, or give each call an idempotencyKey.');
    this.name = 'MissingCrypto';
  }
}

/** The stream ended permanently: reconnecting with this credential would fail again. */
export class StreamClosed extends ShopError {
  declare readonly kind: 'stream-closed';

  /** @param code 4001: the credential is no longer valid; 4003: it may not read order events */
  constructor(
    readonly code: number,
    message: string,
  ) {
    super('stream-closed', message);
    this.name = 'StreamClosed';
  }
}
