import type { IncomingMessage, ServerResponse } from 'node:http';
import { CredentialRefused } from '@plant-shop/credentials/credential-refused';
import { CodedError } from '@plant-shop/platform/errors';
import { retryAfterSeconds } from './reconnect.js';

/** Problem codes of the stream. Titles and statuses are those of the gateway, which serves the pages of the problem types. */
const table: Readonly<Record<string, { readonly status: number; readonly title: string }>> = {
  'route-not-found': { status: 404, title: 'No such route' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  unauthorized: { status: 401, title: 'Credential needed' },
  'credential-refused': { status: 401, title: 'Credential refused' },
  forbidden: { status: 403, title: 'Not permitted' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  'malformed-request': { status: 400, title: 'Malformed request' },
  'invalid-input': { status: 400, title: 'Invalid input' },
  'invalid-cursor': { status: 400, title: 'Invalid cursor' },
  overloaded: { status: 503, title: 'Overloaded' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
  'outcome-unknown': { status: 503, title: 'Outcome unknown' },
  internal: { status: 500, title: 'Internal error' },
};

/** Returns the path without the query, which may hold an API key. */
export const pathOf = (request: IncomingMessage): string => (request.url ?? '/').split(/[?#]/, 1)[0] ?? '/';

/** An error whose response has additional headers. */
export class HttpProblem extends CodedError {
  constructor(
    code: 'route-not-found' | 'method-not-allowed' | 'malformed-request',
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(code, message);
    this.name = 'HttpProblem';
  }
}

export const badParameter = (parameter: string, must: string): CodedError =>
  new CodedError('invalid-input', `Correct the parameter ${parameter} and send the request again.`, {
    errors: [{ parameter, detail: `${parameter} ${must}` }],
  });

/** Returns whether an error is a defect of this service, to be logged. */
export const isDefect = (error: unknown): boolean => !(error instanceof CodedError) || (table[error.code]?.status ?? 500) === 500;

/** The request's part of a problem document. */
export interface Occurrence {
  readonly publicUrl: string;
  readonly requestId: string;
  /** The path without its query. */
  readonly instance: string;
}

/** Sends a problem document (RFC 9457). Returns the code that was sent. */
export function sendProblem(error: unknown, { publicUrl, requestId, instance }: Occurrence, response: ServerResponse): string {
  const coded = error instanceof CodedError && !isDefect(error) ? error : new CodedError('internal', '');
  const { status, title } = table[coded.code] ?? { status: 500, title: 'Internal error' };
  const standard = {
    type: `${publicUrl}/problems/${coded.code}`,
    title,
    status,
    ...(status !== 500 && { detail: coded.message }),
    instance,
    code: coded.code,
    requestId,
  };
  response.writeHead(status, {
    ...securityHeaders,
    ...headersOf(coded, status),
    'content-type': 'application/problem+json; charset=utf-8',
    'x-request-id': requestId,
    connection: 'close',
  });
  response.end(JSON.stringify({ ...standard, ...coded.details, ...standard }));
  return coded.code;
}

export const securityHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};

/** Returns the HSTS header of every response if clients connect by TLS: one year, as at the gateway. */
export const transportSecurity = (streamUrl: string): Headers =>
  new Headers(streamUrl.startsWith('wss:') ? [['strict-transport-security', 'max-age=31536000']] : []);

function headersOf(error: CodedError, status: number): Record<string, string> {
  if (error instanceof HttpProblem) return { ...error.headers };
  if (error instanceof CredentialRefused && error.challenge !== undefined) return { 'www-authenticate': error.challenge };
  if (status === 401) return { 'www-authenticate': 'Bearer realm="plant-shop"' };
  if (status === 503) return { 'retry-after': String(retryAfterSeconds(Math.random())) };
  if (status === 429) return { 'retry-after': String(Number(error.details['retryAfter'] ?? 1)) };
  return {};
}
