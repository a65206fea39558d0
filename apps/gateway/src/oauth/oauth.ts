import type { IncomingHttpHeaders } from 'node:http';
import '@fastify/reply-from';
import { Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { pageText } from '@plant-shop/contracts/page';
import { outcomeUnknown, theService, unavailable } from '@plant-shop/platform/errors';
import { html } from '@plant-shop/platform/html/html';
import { pathOf } from '@plant-shop/platform/http/request';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendPage } from '../http/headers.js';
import { clientAddress } from '../http/request-authenticator.js';
import { Undocumented } from '../http/route.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../config.js';

/** Connection errors after which identity cannot have received the request. */
const notSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** Forwards a request to identity's HTTP pages, with trustworthy headers about the client. */
function forward(request: FastifyRequest, reply: FastifyReply, options: GatewayOptions): void {
  const forwarded = forwardedHeaders(request, options.publicUrl);
  reply.from(pathOf(request.raw.url ?? '/'), {
    timeout: options.requestBudgetMs,
    // Disables the plug-in's ten retries of a 503: the client would wait for them, and can retry itself.
    retryDelay: () => null,
    rewriteRequestHeaders: (_request, headers) => ({ ...withoutUntrusted(headers), ...originFor(request), ...forwarded }),
    rewriteHeaders: withoutCors,
    onError: (failed, { error }) => {
      // Only navigations of browsers ask for HTML by name.
      if (request.headers.accept?.includes('text/html') === true) sendPage(reply.code(503).headers({ 'retry-after': '1', 'cache-control': 'no-store' }), awayPage(request));
      else void failed.send(failureOf(error, request.method));
    },
  });
}

/** Identity's own forms (login, consent, account), which it accepts only from its own pages. */
const ofForms = /^\/(?:oauth\/interaction\/|account(?:[/?]|$))/;

/** Removes the OAuth provider's CORS headers, which allow every origin; the gateway has set its own, by `CORS_ORIGINS`. */
const withoutCors = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('access-control-')));

/**
 * Forwards `Origin` only for identity's forms, which check it. Elsewhere the gateway has decided by `CORS_ORIGINS`, and
 * identity would refuse every cross-origin request.
 */
const originFor = ({ raw: { url, headers } }: FastifyRequest): { origin?: string } =>
  headers.origin !== undefined && url !== undefined && ofForms.test(url) ? { origin: headers.origin } : {};

const forwardedHeaders = (request: FastifyRequest, publicUrl: string): Record<string, string> => {
  const { host, protocol } = new URL(publicUrl);
  return {
    'x-forwarded-for': clientAddress(request),
    'x-forwarded-host': host,
    'x-forwarded-proto': protocol.slice(0, -1),
    'x-request-id': request.id,
  };
};

/** Hop-by-hop headers (RFC 9110, section 7.6.1), and `Expect`, which the gateway's server answers. */
const hopByHop = new Set(['connection', 'proxy-connection', 'keep-alive', 'upgrade', 'te', 'trailer', 'expect']);

/** Removes hop-by-hop headers and what clients claim about proxies. */
function withoutUntrusted(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => name !== 'origin' && !name.startsWith('x-forwarded-') && name !== 'forwarded' && name !== 'x-real-ip' && !hopByHop.has(name),
    ),
  );
}

function failureOf(error: Error, method: string): Error {
  const { code } = (error.cause ?? error) as NodeJS.ErrnoException;
  const isSafe = method === 'GET' || method === 'HEAD';
  return isSafe || (code !== undefined && notSent.has(code)) ? unavailable(theService('identity'), error) : outcomeUnknown(theService('identity'), error);
}

/** Says to people that identity does not answer. The link leads to the page's own address, which has a GET unless a form without a page was sent. */
const awayPage = ({ method, raw: { url = '' } }: FastifyRequest): string =>
  pageText({
    title: 'Please try again later',
    layout: 'card',
    main: html`<h1>Please try again later</h1>
<p>Logins and accounts do not answer. ${method === 'POST' ? 'What you sent may have arrived: check before you send it again.' : undefined}</p>
${method !== 'POST' || ofForms.test(url) ? html`<p><a href="">Try again</a></p>` : undefined}`,
  });

const accountPages = ['account', 'account/recovery', 'account/password', 'account/email', 'account/factors', 'account/passkey'];
const logInSteps = ['oauth/interaction/:uid/passkey', 'oauth/interaction/:uid/factor'];
const read = ['.well-known/openid-configuration', '.well-known/oauth-authorization-server', 'oauth/jwks', 'oauth/userinfo', 'oauth/logout/success', 'oauth/interaction/:uid', 'oauth/interaction/:uid/sign-up', 'oauth/passkey.js', ...logInSteps, ...accountPages];
const posted = ['oauth/token', 'oauth/revoke', 'oauth/introspect', 'oauth/userinfo', 'oauth/interaction/:uid', 'oauth/logout/confirm', ...logInSteps, ...accountPages];

/** Identity's OAuth endpoints, and its pages, under the public origin. Others, and other methods, are refused here like everywhere. */
@Controller()
export class OAuthController {
  constructor(@Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions) {}

  @Get(read)
  @Undocumented()
  getOAuth(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    forward(request, reply, this.options);
  }

  /** Has no HEAD, which would begin an authorization or a logout too. */
  @Get(['oauth/authorize', 'oauth/logout'])
  @Undocumented({ unsafeGet: true })
  beginAuthorization(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    forward(request, reply, this.options);
  }

  @Post('oauth/authorize')
  @Undocumented({ body: { kind: 'oauthForm' } })
  beginAuthorizationByForm(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    forward(request, reply, this.options);
  }

  /** After login or consent. Has no HEAD, which would end the authorization too. */
  @Get('oauth/authorize/:uid')
  @Undocumented({ unsafeGet: true })
  resumeAuthorization(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    forward(request, reply, this.options);
  }

  /** Registers a user, and counts like the operation that does. */
  @Post('oauth/interaction/:uid/sign-up')
  @Undocumented({ body: { kind: 'oauthForm' }, weight: { perUser: 20 } })
  signUp(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    forward(request, reply, this.options);
  }

  @Post(posted)
  @Undocumented({ body: { kind: 'oauthForm' } })
  postOAuth(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    forward(request, reply, this.options);
  }
}
