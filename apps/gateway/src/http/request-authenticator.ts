import { type AccessPolicy, permits } from '@plant-shop/contracts/permissions';
import { HttpError } from '@plant-shop/contracts/problem';
import type { Authentication } from '@plant-shop/credentials/authentication';
import type { CredentialChecker } from '@plant-shop/credentials/credential-checker';
import { type PresentedCredentials, presentedCredentialsOf } from '@plant-shop/credentials/presented-credentials';
import { CodedError, isTransient } from '@plant-shop/platform/errors';
import { networkOf } from '@plant-shop/platform/http/request';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limitHeader, policyHeader, type RateLimit, tooManyRequests } from '../limits/rate-limit.js';

/** Returns the client's address; behind trusted proxies, the address that the first of them saw. */
export const clientAddress = (request: FastifyRequest): string => request.ip;

/** The rate limit key of requests without a credential. */
const addressKey = (request: FastifyRequest): string => `address:${networkOf(clientAddress(request))}`;

/** The rate limit key of refused credentials. Separate, so that anonymous requests of an address do not prevent checks. */
const guessesKey = (request: FastifyRequest): string => `guesses:${networkOf(clientAddress(request))}`;

/**
 * Authenticates, rate-limits and authorises each request before its body is read. Runs in Fastify's `onRequest` hook of the
 * route, after routing, so paths are not matched a second time.
 */
export class RequestAuthenticator {
  private readonly limitPolicy: string;

  constructor(
    private readonly credentials: Pick<CredentialChecker, 'findCached' | 'check'>,
    private readonly limit: RateLimit,
  ) {
    this.limitPolicy = policyHeader(limit.perMinute);
  }

  /**
   * Returns undefined, not a promise, if no call to identity is needed: the common case then costs no turn of the event loop.
   * @throws CodedError `unauthorized`, `credential-refused`, `forbidden`, `too-many-requests`, `unavailable`
   */
  admit(policy: AccessPolicy, request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
    if (policy.kind === 'open') {
      return policy.cost === undefined ? undefined : this.countOpen(request, reply, policy.cost, policy.byCredential);
    }
    const ignoreRefusal = policy.kind === 'optional';
    const readPresented = (): PresentedCredentials | undefined => presentedCredentialsOf(request.raw);
    const presented = ignoreRefusal ? undefinedIfRefused(readPresented) : this.countingRefusals(request, reply, readPresented);
    if (presented === undefined) {
      this.count(addressKey(request), reply);
      authorize(policy, undefined);
      return undefined;
    }
    const readCached = (): Authentication | undefined => this.credentials.findCached(presented);
    const authentication = ignoreRefusal ? undefinedIfRefused(readCached) : this.countingRefusals(request, reply, readCached);
    if (authentication) {
      this.accept(authentication, policy, request, reply);
      return undefined;
    }
    return this.check(presented, policy, request, reply);
  }

  /**
   * Checks during a long request that its principal is still permitted. Does nothing for requests without one. Where credentials are
   * optional, the request goes on without the one that is refused now.
   * @throws CodedError `credential-refused`, `forbidden`, or `unavailable` if that cannot be checked now
   */
  async recheck(request: FastifyRequest): Promise<void> {
    const policy = request.routeSpec?.access;
    const presented = request.authentication && presentedCredentialsOf(request.raw);
    if (!policy || !presented) return;
    try {
      request.authentication = this.credentials.findCached(presented) ?? (await this.credentials.check(presented, request.id, request.span?.traceparent));
    } catch (error) {
      if (policy.kind !== 'optional' || !isRefused(error)) throw error;
      request.authentication = undefined;
    }
    authorize(policy, request.authentication);
  }

  private async check(
    presented: PresentedCredentials,
    policy: AccessPolicy,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    // Refused credentials are limited per address; beyond the limit this throws `too-many-requests`.
    if (this.limit.isExhausted(guessesKey(request))) this.count(guessesKey(request), reply);
    let authentication: Authentication;
    try {
      authentication = await this.askIdentity(presented, request);
    } catch (error) {
      // A credential that identity could not check, because it is down, is no guess.
      if (!isRefused(error)) throw error;
      this.countGuess(request, reply);
      if (policy.kind === 'optional') return;
      throw error;
    }
    this.accept(authentication, policy, request, reply);
  }

  /** Takes its time from the budget of the request. */
  private async askIdentity(presented: PresentedCredentials, request: FastifyRequest): Promise<Authentication> {
    const startedAt = performance.now();
    try {
      return await this.credentials.check(presented, request.id, request.span?.traceparent);
    } finally {
      request.credentialCheckMs = performance.now() - startedAt;
    }
  }

  private accept(authentication: Authentication, policy: AccessPolicy, request: FastifyRequest, reply: FastifyReply): void {
    request.authentication = authentication;
    this.count(authentication.credential, reply);
    authorize(policy, authentication);
  }

  /**
   * Counts a request of an operation without authentication. A credential that is not cached here counts as anonymous, without
   * a call to identity, until the limit of the address is exhausted. From then on it is checked, so that other clients at the
   * address cannot exhaust the limit of its owner.
   */
  private countOpen(request: FastifyRequest, reply: FastifyReply, cost: number, byCredential = false): Promise<void> | undefined {
    const address = addressKey(request);
    const presented = byCredential ? undefinedIfRefused(() => presentedCredentialsOf(request.raw)) : undefined;
    const authentication = presented && undefinedIfRefused(() => this.credentials.findCached(presented));
    if (presented && !authentication && this.limit.isExhausted(address) && !this.limit.isExhausted(guessesKey(request))) {
      return this.countAfterCheck(presented, request, reply, cost);
    }
    this.count(authentication?.credential ?? address, reply, cost);
    return undefined;
  }

  private async countAfterCheck(
    presented: PresentedCredentials,
    request: FastifyRequest,
    reply: FastifyReply,
    cost: number,
  ): Promise<void> {
    let key = addressKey(request);
    try {
      key = (await this.askIdentity(presented, request)).credential;
    } catch (error) {
      if (isRefused(error)) this.limit.take(guessesKey(request));
      // While identity is down, the request stays anonymous.
      else if (!isTransient(error)) throw error;
    }
    this.count(key, reply, cost);
  }

  /** @throws HttpError `too-many-requests` */
  private countGuess(request: FastifyRequest, reply: FastifyReply): void {
    this.limit.take(guessesKey(request));
    this.count(addressKey(request), reply);
  }

  private countingRefusals<T>(request: FastifyRequest, reply: FastifyReply, read: () => T): T {
    try {
      return read();
    } catch (error) {
      this.countGuess(request, reply);
      throw error;
    }
  }

  private count(key: string, reply: FastifyReply, cost = 1): void {
    const status = this.limit.take(key, cost);
    reply.header('ratelimit-policy', this.limitPolicy);
    reply.header('ratelimit', limitHeader(status));
    if (status.remaining < 0) throw tooManyRequests(status.resetSeconds);
  }
}

function undefinedIfRefused<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isRefused(error)) return undefined;
    throw error;
  }
}

/** Whether a credential was refused, by identity or by this gateway. */
const isRefused = (error: unknown): boolean =>
  error instanceof CodedError && (error.code === 'credential-refused' || error.code === 'unauthorized');

/** @throws HttpError `unauthorized` or `forbidden` unless the policy permits the principal */
function authorize(policy: AccessPolicy, authentication: Authentication | undefined): void {
  if (policy.kind === 'open' || policy.kind === 'optional') return;
  if (!authentication) {
    throw new HttpError('unauthorized', 'Send an API key in the header api_key, or a token as Authorization: Bearer <token>.');
  }
  if (policy.kind === 'authenticated') return;
  if (permits(policy, authentication.principal)) return;
  const names = policy.anyOf.join(' or ');
  throw new HttpError(
    'forbidden',
    `This needs the permission ${names}. Use a credential that has it.`,
    {},
    { 'www-authenticate': `Bearer realm="plant-shop", error="insufficient_scope", scope="${policy.anyOf.join(' ')}"` },
  );
}
