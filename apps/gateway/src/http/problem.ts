import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { BodySpec } from '@plant-shop/contracts/client-operation';
import { pageText } from '@plant-shop/contracts/page';
import { HttpError, problemResponse, problemTypeUrl } from '@plant-shop/contracts/problem';
import { type ProblemCode, problemTable } from '@plant-shop/contracts/problem-table';
import { CodedError, type ErrorDetails, type FieldError, type RequestError } from '@plant-shop/platform/errors';
import { html } from '@plant-shop/platform/html/html';
import { pathOf } from '@plant-shop/platform/http/request';
import type { Logger } from '@plant-shop/platform/logging';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { gatewayHeaders, type HeaderOptions, sendPage } from './headers.js';

/** Answers a request with the problem document of an error; logs defects. */
export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { logger, ...options }: HeaderOptions & { readonly logger: Logger },
): void {
  const coded = toCoded(error);
  const at = { publicUrl: options.publicUrl, headers: gatewayHeaders(options), requestId: request.id, instance: pathOf(request.raw.url ?? '') };
  const { status, headers, body, isDefect } = problemResponse(coded, at, errorsOf(coded, request.routeSpec?.body));
  if (isDefect && !isOfLeaving(error, reply)) {
    const err = error instanceof Error ? error : coded;
    logger.error({ err, requestId: request.id, operation: request.routeSpec?.operation }, 'defect');
  }
  // The response has begun, so the connection is closed: the client must see that the body is incomplete.
  if (reply.raw.headersSent) {
    reply.raw.destroy();
    return;
  }
  // All headers: some errors occur before any hook, and a handler may have set headers for the response that it did not send.
  const { resource } = request.routeSpec ?? {};
  // RFC 9728: where a client learns how to get a token for it.
  const described = status === 401 && resource && { 'www-authenticate': `${headers['www-authenticate']}, resource_metadata="${options.publicUrl}/.well-known/oauth-protected-resource${resource}"` };
  void reply.code(status).headers({ ...headers, ...described });
  if (isForPeople(request)) sendPage(reply, problemPage(coded, status, request.id));
  else void reply.send(body);
}

/** Only navigations of browsers ask for HTML by name. Paths of the API have problem documents for them, too. */
const isForPeople = ({ headers, raw: { url = '' } }: FastifyRequest): boolean => /^\/(?:console|account|oauth)(?:[/?]|$)/.test(url) && headers.accept?.includes('text/html') === true;

function problemPage({ message }: CodedError, status: number, requestId: string): string {
  const [title, text] = [400, 404, 414].includes(status) ? ['There is no such page', 'Check its address, or begin at the'] : ['This page cannot be shown', `${message} Then go on at the`];
  return pageText({ title, layout: 'card', main: html`<h1>${title}</h1>\n<p>${text} <a href="/console">console</a>.</p>\n<p class="dimmed">Request ${requestId}</p>` });
}

/** Whether a streamed response was given up because its client has left. */
const isOfLeaving = (error: unknown, { raw }: FastifyReply): boolean =>
  raw.destroyed && error instanceof Error && (error.name === 'AbortError' || (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE');

/** Returns the invalid parts of the client's request. The gateway's own errors already point into it. */
export const errorsOf = (error: CodedError, body: BodySpec | undefined): ErrorDetails['errors'] =>
  error instanceof HttpError ? error.details.errors : error.details.errors?.map((fault) => translateFieldError(fault, body));

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
    const status = error.getStatus();
    if (status === 404) return routeNotFound();
    // Of a guard, and of pipes.
    if (status === 403) return new HttpError('forbidden', 'You may not call this operation.');
    if (status >= 400 && status < 500) return new HttpError('malformed-request', error.message);
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

const order = 1_000_000_007;
const ofLine = { pointer: '/lines/0', plantId: 7 };

/** Examples of the details of each code, one for each form that they may have; the usual one first. Other codes have none. */
const details: Readonly<Partial<Record<ProblemCode, readonly [object, ...object[]]>>> = {
  'invalid-input': [{ errors: [{ pointer: '/quantity', detail: 'must be a whole number from 1 to 1000000' }] }],
  'plant-not-found': [{}, { lines: [ofLine] }],
  'plant-not-available': [{}, { lines: [ofLine] }],
  'insufficient-stock': [{ available: 3 }, {}, { lines: [{ ...ofLine, available: 3 }] }],
  'external-id-exists': [{ orderId: order }, {}, { basketId: 1_000_000_003 }],
  'unpaid-limit': [{ orders: [order] }],
  'order-not-cancellable': [{}, { orders: [order] }],
  'plant-has-pending-orders': [{ orders: [order] }],
  'user-has-open-orders': [{ orders: [order] }],
  'order-not-payable': [{ payment: 'refund-due' }, {}],
  'username-taken': [{ errors: [{ pointer: '/username', detail: 'is taken' }] }],
  'user-id-taken': [{ errors: [{ pointer: '/id', detail: 'is taken' }] }],
  'too-many-logins': [{ retryAfter: 840 }],
  'replay-in-progress': [{ waiting: 120, retryAfter: 10 }],
  'too-many-deliveries': [{ waiting: 100_000, retryAfter: 10 }],
};

/** Returns the extension members that all problems with this code have. */
export function membersAlways(code: ProblemCode): string[] {
  const [first = {}, ...others] = details[code] ?? [];
  return Object.keys(first).filter((name) => name !== 'errors' && others.every((one) => name in one));
}

/** Returns example details of the code that have these members. */
export const detailsWith = (code: ProblemCode, members: readonly string[]): object =>
  details[code]?.find((one) => members.every((name) => name in one)) ?? {};

/** Returns an example response with this code, with its usual details or those given. */
export function exampleOf(code: ProblemCode, publicUrl: string, given: object = details[code]?.[0] ?? {}): object {
  const { status, title, meaning, remedy } = problemTable[code];
  return {
    type: problemTypeUrl(publicUrl, code),
    title,
    status,
    ...(status !== 500 && { detail: `${meaning} ${remedy}` }),
    instance: '/v3/store/order',
    code,
    requestId: '6f1ed002-ab5c-4f0e-9c3a-0d6f3ab8c1de',
    ...given,
  };
}

/** Returns examples of the forms that `exampleOf` does not show: with the details of a basket, or without those that some callers may not see. */
export const otherExamples = (publicUrl: string): object[] =>
  Object.entries(details).flatMap(([code, [, ...others]]) => others.map((one) => exampleOf(code as ProblemCode, publicUrl, one)));

/**
 * Answers every error of hooks and handlers with a problem document, also of routes without a controller: Nest sets its filters as Fastify's
 * error handler. Nest's own error bodies echo URLs.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly parts: HeaderOptions & { readonly logger: Logger }) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendProblem(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), this.parts);
  }
}
