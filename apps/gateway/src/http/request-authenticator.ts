import { type AccessPolicy, permits, type TokenResource } from '@plant-shop/contracts/permissions';
import { HttpError } from '@plant-shop/contracts/problem';
import type { Authentication } from '@plant-shop/credentials/authentication';
import type { CredentialChecker } from '@plant-shop/credentials/credential-checker';
import { type PresentedCredentials, presentedCredentialsOf } from '@plant-shop/credentials/presented-credentials';
import { CodedError, isTransient } from '@plant-shop/platform/errors';
import { networkOf } from '@plant-shop/platform/http/request';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { checkJson } from './json-body.js';
import { declaredWeight } from './route.js';
import type { ConcurrencyLimiter, Slot } from '../limits/concurrency-limiter.js';
import { limitHeader, policyHeader, type RateLimit, tooManyRequests } from '../limits/rate-limit.js';

declare module 'node:http' {
  interface IncomingMessage {
    /** Set inside this process: a tool of an agent sends the request, so its access token is for tools. The slot is that of the message. */
    agentSlot?: Slot | undefined;
  }
}

/** Returns what a request's access token must be for. */
const resourceOf = ({ raw, routeSpec }: FastifyRequest): TokenResource => (raw.agentSlot ? '/mcp' : (routeSpec?.resource ?? '/v3'));

/** Returns the client's address; behind trusted proxies, the address that the first of them saw. */
export const clientAddress = (request: FastifyRequest): string => request.ip;

/** The rate limit key of requests without a credential. */
const addressKey = (request: FastifyRequest): string => `address:${networkOf(clientAddress(request))}`;

/** The rate limit key of refused credentials. Separate, so that anonymous requests of an address do not prevent checks. */
const guessesKey = (request: FastifyRequest): string => `guesses:${networkOf(clientAddress(request))}`;

/** The key under which registrations from a network are counted. */
const registrationsKey = (request: FastifyRequest): string => `registrations:${networkOf(clientAddress(request))}`;

/** One network registers at most a fiftieth of the limit of requests: 1,200 users a minute by default. */
const registrationWeight = 50;
/** The contract refuses a list with more users, before it costs anything. */
const maxUsers = 500;
/** What an import or export counts as one request. */
const weightMs = 20;

/** Who sends a request, as far as this process knows it without asking identity. */
export interface Sender {
  /** Whose share of the slots the request uses: a user's, or without a valid and cached credential a network's. */
  readonly client: string;
  readonly presented?: PresentedCredentials | undefined;
  readonly cached?: Authentication | undefined;
  /** Why the credentials are refused already. */
  readonly refusal?: CodedError;
}

/**
 * Authenticates, rate-limits and authorises each request before its body is read. Runs in Fastify's `onRequest` hook of the
 * route, after routing, so paths are not matched a second time.
 */
export class RequestAuthenticator {
  private readonly limitPolicy: string;

  constructor(
    private readonly credentials: Pick<CredentialChecker, 'findCached' | 'check'>,
    private readonly limit: RateLimit,
    private readonly limiter: ConcurrencyLimiter,
  ) {
    this.limitPolicy = policyHeader(limit.perMinute);
  }

  /** Reads the credentials that a policy takes, and finds them in the cache. Never fails, and never asks identity. */
  senderOf(policy: AccessPolicy, request: FastifyRequest): Sender {
    if (policy.kind === 'open' && !policy.byCredential) return { client: addressKey(request) };
    let presented: PresentedCredentials | undefined;
    try {
      presented = presentedCredentialsOf(request.raw);
      const cached = presented && this.credentials.findCached(presented, resourceOf(request));
      return { client: cached?.client ?? addressKey(request), presented, cached };
    } catch (refusal) {
      if (!(refusal instanceof CodedError) || !isRefused(refusal)) throw refusal;
      return { client: addressKey(request), presented, refusal };
    }
  }

  /**
   * Returns undefined, not a promise, if no call to identity is needed: the common case then costs no turn of the event loop.
   * @throws CodedError `unauthorized`, `credential-refused`, `forbidden`, `too-many-requests`, `unavailable`
   */
  admit(policy: AccessPolicy, sender: Sender, request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
    if (policy.kind === 'open') {
      return policy.cost === undefined ? undefined : this.countOpen(sender, request, reply, policy.cost * declaredWeight(request));
    }
    const { presented, cached, refusal } = sender;
    if (refusal !== undefined && policy.kind !== 'optional') {
      this.countGuess(request, reply);
      throw refusal;
    }
    if (presented === undefined) {
      this.count(sender.client, reply, declaredWeight(request));
      authorize(policy, undefined);
      return undefined;
    }
    if (cached) {
      this.accept(cached, policy, request, reply);
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
    const resource = resourceOf(request);
    try {
      request.authentication = this.credentials.findCached(presented, resource) ?? (await this.credentials.check(presented, request.id, request.span?.traceparent, resource));
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

  /** Takes its time from the budget of the request, also that of waiting for its client's turn: a thousand guesses at once would delay others. */
  private async askIdentity(presented: PresentedCredentials, request: FastifyRequest): Promise<Authentication> {
    const startedAt = performance.now();
    try {
      return await this.limiter.inTurn(request.slot, 1, () => this.credentials.check(presented, request.id, request.span?.traceparent, resourceOf(request)));
    } finally {
      request.credentialCheckMs = performance.now() - startedAt;
    }
  }

  private accept(authentication: Authentication, policy: AccessPolicy, request: FastifyRequest, reply: FastifyReply): void {
    request.authentication = authentication;
    this.count(authentication.client, reply, declaredWeight(request));
    authorize(policy, authentication);
  }

  /**
   * Counts the users that a request registers, once its body has arrived. Those of managers of users do not count against their network.
   * @throws HttpError `too-many-requests`
   */
  countRegistrations(request: FastifyRequest, reply: FastifyReply): void {
    const weight = request.routeSpec?.weight;
    if (typeof weight !== 'object') return;
    const { body, authentication } = request;
    const users = Math.min(maxUsers, lengthOf(body as Buffer | undefined));
    this.count(authentication?.client ?? addressKey(request), reply, weight.perUser * users);
    if (authentication?.principal.permissions.includes('write:users')) return;
    const { remaining, resetSeconds } = this.limit.take(registrationsKey(request), registrationWeight * users);
    if (remaining < 0) throw tooManyRequests(resetSeconds, 'registrations from your network');
  }

  /** Counts what a request cost beside what was counted, after it was answered. */
  charge(request: FastifyRequest, weight: number): void {
    this.limit.charge(request.authentication?.client ?? addressKey(request), weight);
  }

  /** Counts a request whose weight is the time that it took. */
  countTime(request: FastifyRequest, ms: number): void {
    if (request.routeSpec?.weight === 'time') this.charge(request, Math.ceil(ms / weightMs));
  }

  /**
   * Counts a request of an operation without authentication. A credential that is not cached here counts as anonymous, without
   * a call to identity, until the limit of the address is exhausted. From then on it is checked, so that other clients at the
   * address cannot exhaust the limit of its owner.
   */
  private countOpen({ client, presented, cached, refusal }: Sender, request: FastifyRequest, reply: FastifyReply, cost: number): Promise<void> | undefined {
    if (presented && !cached && refusal === undefined && this.limit.isExhausted(client) && !this.limit.isExhausted(guessesKey(request))) {
      return this.countAfterCheck(presented, request, reply, cost);
    }
    this.count(client, reply, cost);
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
      key = (await this.askIdentity(presented, request)).client;
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

  private count(key: string, reply: FastifyReply, cost = 1): void {
    const status = this.limit.take(key, cost);
    reply.header('ratelimit-policy', this.limitPolicy);
    reply.header('ratelimit', limitHeader(status));
    if (status.remaining < 0) throw tooManyRequests(status.resetSeconds);
  }
}

/** Returns the number of elements of a JSON list; 1 for anything else. */
function lengthOf(body: Buffer = Buffer.alloc(0)): number {
  const first = body.toString('latin1', 0, 100).trimStart()[0];
  const value = first === '[' ? checkJson(body, 'array').value : undefined;
  return Array.isArray(value) ? value.length : 1;
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
