import '@fastify/reply-from';
import type { IncomingHttpHeaders } from 'node:http';
import { outcomeUnknown, unavailable } from '@plant-shop/platform/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientAddress } from '../http/request-authenticator.js';
import type { GatewayOptions } from '../options.js';
import { pathOf } from '../problems/send-problem.js';

/** Errors after which nothing can have reached identity. */
const notSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** Passes a request on to identity's HTTP pages, with what they may believe about where it came from. */
export function forward(request: FastifyRequest, reply: FastifyReply, options: GatewayOptions): void {
  const forwarded = forwardedHeaders(request, options.publicUrl);
  reply.from(pathOf(request.raw.url ?? '/'), {
    timeout: options.requestBudgetMs,
    // A 503 is the client's to retry: the plug-in would try ten times while the client waits.
    retryDelay: () => null,
    rewriteRequestHeaders: (_request, headers) => ({ ...withoutClaims(headers), ...originFor(request), ...forwarded }),
    rewriteHeaders: withoutCors,
    onError: (failed, { error }) => {
      void failed.send(failureOf(error, request.method));
    },
  });
}

/** Forms of identity's own: they are taken from its own pages only. */
const formsPrefix = '/oauth/interaction/';

/** The provider lets the pages of every origin read discovery, keys and errors. The gateway's own headers, by setting, are there already. */
const withoutCors = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('access-control-')));

/**
 * Which pages may call is said here, by setting, for the whole of our origin. Identity would refuse all of them, also ours;
 * only its forms ask where they were sent from.
 */
const originFor = ({ raw: { url, headers } }: FastifyRequest): { origin?: string } =>
  headers.origin !== undefined && url?.startsWith(formsPrefix) === true ? { origin: headers.origin } : {};

const forwardedHeaders = (request: FastifyRequest, publicUrl: string): Record<string, string> => {
  const { host, protocol } = new URL(publicUrl);
  return {
    'x-forwarded-for': clientAddress(request),
    'x-forwarded-host': host,
    'x-forwarded-proto': protocol.slice(0, -1),
    'x-request-id': request.id,
  };
};

/** What is between the client and us alone: RFC 9110, 7.6.1. `Expect` is answered by our own server. */
const ofOneConnection = new Set(['connection', 'proxy-connection', 'keep-alive', 'upgrade', 'te', 'trailer', 'expect']);

/** What a client says about proxies before us is not to be believed. */
function withoutClaims(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => name !== 'origin' && !name.startsWith('x-forwarded-') && name !== 'forwarded' && name !== 'x-real-ip' && !ofOneConnection.has(name),
    ),
  );
}

function failureOf(error: Error, method: string): Error {
  const { code } = (error.cause ?? error) as NodeJS.ErrnoException;
  const isSafe = method === 'GET' || method === 'HEAD';
  return isSafe || (code !== undefined && notSent.has(code)) ? unavailable('identity', error) : outcomeUnknown('identity', error);
}
