import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { CodedError, type ErrorDetails, type FieldError, type RequestError } from '@plant-shop/platform/errors';
import { corsHeaders } from '@plant-shop/platform/http/cors';
import type { UrlEncoded } from '@plant-shop/platform/http/url-encoded';
import { type HttpCode, isProblemCode, type ProblemCode, problemTable } from './problem-table.js';

/** An error that is raised where HTTP ends, in the gateway or the stream, with headers for the response. */
export class HttpError extends CodedError {
  constructor(
    code: HttpCode | 'invalid-input' | 'payload-too-large' | 'forbidden' | 'credential-refused',
    message: string,
    details: ErrorDetails = {},
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(code, message, details);
    this.name = 'HttpError';
  }
}

/** An invalid parameter of the path or query. @param must completes the sentence "<name> must …" */
export const badParameter = (name: string, must: string): HttpError =>
  badOutsideBody(`parameter ${name}`, { parameter: name, detail: `${name} ${must}` });

/** An invalid header. */
export const badHeader = (name: string, must: string): HttpError =>
  badOutsideBody(`header ${name}`, { header: name, detail: `${name} ${must}` });

/** Throws `malformed-request` for broken encoding anywhere in a query or form, even if no parameter is read. */
export function checkEncoding(what: 'query' | 'form', { fault }: UrlEncoded): void {
  if (fault !== undefined) throw new HttpError('malformed-request', `The ${what} ${fault}.`);
}

const badOutsideBody = (what: string, fault: RequestError): HttpError =>
  new HttpError('invalid-input', `Correct the ${what} and send the request again.`, { errors: [fault] });

export const badField = (pointer: string, detail: string): HttpError => badFields([{ pointer, detail }]);

export const badFields = (errors: readonly FieldError[]): HttpError =>
  new HttpError('invalid-input', 'Correct the fields named in errors and send the request again.', { errors });

/** What all problems of a server share. */
export interface ProblemOrigin {
  /** The address of the API, which describes all problems. */
  readonly publicUrl: string;
  /** The default headers of the server's responses. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The occurrence of a problem: where it happened, and what the document says about the request. */
interface Occurrence extends ProblemOrigin {
  readonly requestId: string;
  /** The path without its query, which may contain secrets. */
  readonly instance: string | undefined;
  /** `Retry-After` of a 503; 1 by default. */
  readonly retryAfterSeconds?: number;
}

export interface ProblemResponse {
  readonly code: ProblemCode;
  readonly status: number;
  /** All headers except those of the connection. */
  readonly headers: Readonly<Record<string, string>>;
  /** The problem document (RFC 9457) as JSON. */
  readonly body: string;
  /** Whether the error is a defect, which is logged. The document reveals nothing about it. */
  readonly isDefect: boolean;
}

/** Returns the response to a request that failed. @param errors the invalid parts of the request, as the client knows them */
export function problemResponse(error: CodedError, at: Occurrence, errors = error.details.errors): ProblemResponse {
  const code = isProblemCode(error.code) ? error.code : 'internal';
  const { status, title } = problemTable[code];
  const isDefect = status === 500;
  const standard = {
    type: problemTypeUrl(at.publicUrl, code),
    title,
    status,
    ...(!isDefect && { detail: error.message }),
    ...(at.instance !== undefined && { instance: at.instance }),
    code,
    requestId: at.requestId,
    ...(!isDefect && errors && { errors }),
  };
  // Standard members come first and win over the service's details.
  const body = JSON.stringify({ ...standard, ...(!isDefect && error.details), ...standard });
  const headers = {
    ...at.headers,
    ...headersOf(error, status, at),
    'x-request-id': at.requestId,
    'content-type': 'application/problem+json; charset=utf-8',
  };
  return { code, status, headers, body, isDefect };
}

export const problemTypeUrl = (publicUrl: string, code: ProblemCode): string => `${publicUrl}/problems/${code}`;

function headersOf(error: CodedError, status: number, { retryAfterSeconds = 1 }: Occurrence): Record<string, string> {
  const headers: Record<string, string> = error instanceof HttpError ? { ...error.headers } : {};
  if (status === 401) headers['www-authenticate'] ??= 'Bearer realm="plant-shop"';
  if (status === 503) headers['retry-after'] = String(retryAfterSeconds);
  if ((status === 429 || status === 503) && typeof error.details['retryAfter'] === 'number') {
    headers['retry-after'] = String(Math.max(1, Math.ceil(error.details['retryAfter'])));
  }
  return headers;
}

/** How long a refused connection stays open for its client to read the response. */
const lingerMs = 1_000;

/** What Node passes to `clientError`. */
interface ConnectionError extends NodeJS.ErrnoException {
  /** The bytes that the parser refused. */
  readonly rawPacket?: unknown;
}

/**
 * Returns a listener for `clientError`. It answers connections on which Node's HTTP parser failed: there is no request, only the socket.
 * @param corsOrigins the setting `CORS_ORIGINS`; the page's origin is known if its header is among the refused bytes
 */
export function answerConnectionError(origin: ProblemOrigin, corsOrigins: readonly string[]): (error: ConnectionError, socket: Duplex) => void {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
      socket.destroy();
      return;
    }
    const { status, headers, body } = problemResponse(refusalOf(error.code), { ...origin, requestId: randomUUID(), instance: undefined });
    const bytes = Buffer.isBuffer(error.rawPacket) ? error.rawPacket.toString('latin1') : '';
    const page = /\r\norigin:[ \t]*(\S+)/i.exec(bytes)?.[1];
    const lines = Object.entries({ ...headers, ...corsHeaders(page, corsOrigins), 'content-length': String(Buffer.byteLength(body)), connection: 'close' });
    socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`);
    // The client may keep its side open. Until then it can read the response.
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
}

/**
 * Returns whether a response on this connection has begun, such as an event stream: a problem would end up in its body. Node's own
 * handler looks at the same internal member.
 */
const isAnswering = (socket: Duplex & { readonly _httpMessage?: ServerResponse | null }): boolean => socket._httpMessage?.headersSent === true;

function refusalOf(code: string | undefined): HttpError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new HttpError('headers-too-large', 'Send a request line and headers of at most 16 KiB together.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new HttpError('request-timeout', 'Send the request faster, or a smaller one.');
    default:
      return new HttpError('malformed-request', 'The request is not HTTP/1.1.');
  }
}
