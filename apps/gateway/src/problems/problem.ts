import { HttpException } from '@nestjs/common';
import { CredentialRefused } from '@plant-shop/credentials/credential-refused';
import { CodedError, type FieldError, type RequestError } from '@plant-shop/platform/errors';
import type { BodySpec } from '../http/route.js';
import { isProblemCode, type ProblemCode, problemTable } from './problem-table.js';
import { HttpError } from './http-error.js';

/** The occurrence of a problem: what the document says about the request. */
export interface Occurrence {
  readonly publicUrl: string;
  readonly requestId: string;
  /** The path without its query, which may contain secrets. */
  readonly instance: string | undefined;
  readonly body: BodySpec | undefined;
}

export interface Problem {
  readonly code: ProblemCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The problem document (RFC 9457) as JSON. */
  readonly body: string;
}

/** `Retry-After` of a 503, in seconds. */
const retryAfterSeconds = 1;

export function problemOf(error: unknown, at: Occurrence): Problem {
  const coded = toCoded(error);
  const code = isProblemCode(coded.code) ? coded.code : 'internal';
  const { status, title } = problemTable[code];
  const isDefect = status === 500;
  const { errors, ...details } = isDefect ? {} : coded.details;
  const standard = {
    type: problemTypeUrl(at.publicUrl, code),
    title,
    status,
    ...(!isDefect && { detail: coded.message }),
    ...(at.instance !== undefined && { instance: at.instance }),
    code,
    requestId: at.requestId,
    // The gateway's own errors already point into the client's request.
    ...(errors && { errors: coded instanceof HttpError ? errors : errors.map((fault) => translateFieldError(fault, at.body)) }),
  };
  // Standard members come first and win over the service's details.
  const body = JSON.stringify({ ...standard, ...details, ...standard });
  return { code, status, headers: headersOf(coded, status), body };
}

export const problemTypeUrl = (publicUrl: string, code: ProblemCode): string => `${publicUrl}/problems/${code}`;

function headersOf(error: CodedError, status: number): Record<string, string> {
  const headers: Record<string, string> = error instanceof HttpError ? { ...error.headers } : {};
  if (error instanceof CredentialRefused && error.challenge !== undefined) headers['www-authenticate'] = error.challenge;
  if (status === 401) headers['www-authenticate'] ??= 'Bearer realm="plant-shop"';
  if (status === 503) headers['retry-after'] = String(retryAfterSeconds);
  if (status === 429 && typeof error.details['retryAfter'] === 'number') {
    headers['retry-after'] = String(Math.max(1, Math.ceil(error.details['retryAfter'])));
  }
  return headers;
}

/**
 * Translates a service's pointer into its payload to a place in the client's request. The client's body is one member of the
 * payload, so `/order/quantity` becomes `/quantity`; other members came from the path or the query.
 */
export function translateFieldError(fault: FieldError | RequestError, body: BodySpec | undefined): FieldError | RequestError {
  if (!('pointer' in fault)) return fault;
  const { pointer, detail } = fault;
  const end = pointer.indexOf('/', 1);
  const first = pointer.slice(1, end === -1 ? undefined : end);
  if (body?.kind === 'json' && first === body.member) return { pointer: end === -1 ? '' : pointer.slice(end), detail };
  if (first === '' || (body?.kind === 'form' && body.fields.includes(first))) return { pointer, detail };
  return { parameter: first, detail: `${first} ${detail}` };
}

/** Returns the error with a code; unknown errors become `internal`. */
export function toCoded(error: unknown): CodedError {
  if (error instanceof CodedError) return error;
  if (error instanceof HttpException) {
    if (error.cause !== undefined) return toCoded(error.cause);
    if (error.getStatus() === 404) return routeNotFound();
  }
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  const known = typeof code === 'string' ? fromFrameworkCode(code) : undefined;
  if (known) return known;
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new HttpError('malformed-request', 'The request is not well-formed.');
  }
  return new CodedError('internal', 'This is a defect of the gateway.', {}, { cause: error });
}

export const routeNotFound = (): HttpError =>
  new HttpError('route-not-found', 'There is nothing at this path. Check it against the API reference.');

/** Maps error codes of Fastify and its plug-ins. */
function fromFrameworkCode(code: string): HttpError | undefined {
  switch (code) {
    case 'FST_ERR_NOT_FOUND':
      return routeNotFound();
    case 'FST_ERR_BAD_URL':
      return new HttpError('malformed-request', 'The path must be valid percent-encoded UTF-8.');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new HttpError('uri-too-long', 'A segment of the path is too long.');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new HttpError('unsupported-media-type', 'Send the body with the Content-Type that the operation accepts.');
    case 'FST_PARTS_LIMIT':
    case 'FST_FILES_LIMIT':
    case 'FST_FIELDS_LIMIT':
      return new HttpError('payload-too-large', 'Send fewer parts.');
    case 'FST_REQ_FILE_TOO_LARGE':
      return new HttpError('payload-too-large', 'Send a file of at most 10 MiB.');
    default:
      return undefined;
  }
}
