import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Needs } from '../access.js';
import type { Caller } from '@plant-shop/credentials/caller';
import type { CredentialChecker } from '@plant-shop/credentials/credential-checker';
import { type PresentedCredentials, presentedCredentialsOf } from '@plant-shop/credentials/presented-credentials';
import { CodedError, isTransient } from '@plant-shop/platform/errors';
import { networkOf } from '@plant-shop/platform/network';
import { limitHeader, policyHeader, tooManyRequests } from '../limits/rate-limit.headers.js';
import type { RateLimit } from '../limits/rate-limit.js';
import { Refusal } from '../problems/refusal.js';

/** Whose requests are counted when no credential says it: behind trusted proxies, what the first of them saw. */
export const clientAddress = (request: FastifyRequest): string => request.ip;

/** The key under which they are counted. */
const addressOf = (request: FastifyRequest): string => `address:${networkOf(clientAddress(request))}`;

/** The key of refused credentials. Others at the same address, who show none, do not keep a credential from being looked at. */
const guessesOf = (request: FastifyRequest): string => `guesses:${networkOf(clientAddress(request))}`;

/**
 * What every request of a route passes before anything of its body is read: who it is from, how often they come, and
 * whether they may. Fastify runs it per route (`onRequest`), after routing: there is no path to be matched a second time.
 */
export class Entrance {
  private readonly policy: string;

  constructor(
    private readonly credentials: Pick<CredentialChecker, 'findCached' | 'check'>,
    private readonly limit: RateLimit,
  ) {
    this.policy = policyHeader(limit.perMinute);
  }

  /** Without waiting where nobody need be asked: the common case costs no turn of the event loop. */
  admit(needs: Needs, request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
    if (needs.kind === 'open') {
      return needs.countsAs === undefined ? undefined : this.countOpen(request, reply, needs.countsAs, needs.byCredential);
    }
    const refusedIsIgnored = needs.kind === 'anyone';
    const shown = refusedIsIgnored ? unlessRefused(() => presentedCredentialsOf(request.raw)) : this.guarded(request, reply, () => presentedCredentialsOf(request.raw));
    if (shown === undefined) {
      this.count(addressOf(request), reply);
      checkNeeds(needs, undefined);
      return undefined;
    }
    const known = refusedIsIgnored
      ? unlessRefused(() => this.credentials.findCached(shown))
      : this.guarded(request, reply, () => this.credentials.findCached(shown));
    if (known) {
      this.enter(known, needs, request, reply);
      return undefined;
    }
    return this.check(shown, needs, request, reply);
  }

  /**
   * For requests that last: whether the caller may still do this.
   * @throws CodedError `credential-refused`, `forbidden`, `unavailable` while that cannot be known
   */
  async checkAgain(request: FastifyRequest): Promise<void> {
    const needs = request.rule?.needs;
    const shown = presentedCredentialsOf(request.raw);
    if (!needs || !shown) return;
    const caller = this.credentials.findCached(shown) ?? (await this.credentials.check(shown, request.id, request.span?.traceparent));
    checkNeeds(needs, caller);
  }

  private async check(
    shown: PresentedCredentials,
    needs: Needs,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    // Guessing credentials is limited by where the guesses come from.
    if (this.limit.isUsedUp(guessesOf(request))) this.count(guessesOf(request), reply);
    let caller: Caller;
    try {
      caller = await this.credentials.check(shown, request.id, request.span?.traceparent);
    } catch (error) {
      this.countGuess(request, reply);
      if (needs.kind === 'anyone' && isRefusal(error)) return;
      throw error;
    }
    this.enter(caller, needs, request, reply);
  }

  private enter(caller: Caller, needs: Needs, request: FastifyRequest, reply: FastifyReply): void {
    request.caller = caller;
    this.count(caller.credential, reply);
    checkNeeds(needs, caller);
  }

  /**
   * Counts a request of an operation that does not authenticate. A credential that is not known here counts as anonymous, and nobody
   * is asked, until the address is used up: then it is looked at, since others at the address must not use up what is its owner's.
   */
  private countOpen(request: FastifyRequest, reply: FastifyReply, requests: number, byCredential = false): Promise<void> | undefined {
    const address = addressOf(request);
    const shown = byCredential ? unlessRefused(() => presentedCredentialsOf(request.raw)) : undefined;
    const known = shown && unlessRefused(() => this.credentials.findCached(shown));
    if (shown && !known && this.limit.isUsedUp(address) && !this.limit.isUsedUp(guessesOf(request))) {
      return this.countOnceChecked(shown, request, reply, requests);
    }
    this.count(known?.credential ?? address, reply, requests);
    return undefined;
  }

  private async countOnceChecked(shown: PresentedCredentials, request: FastifyRequest, reply: FastifyReply, requests: number): Promise<void> {
    let key = addressOf(request);
    try {
      key = (await this.credentials.check(shown, request.id, request.span?.traceparent)).credential;
    } catch (error) {
      if (isRefusal(error)) this.limit.take(guessesOf(request));
      // While identity is away, nobody can tell: it stays anonymous.
      else if (!isTransient(error)) throw error;
    }
    this.count(key, reply, requests);
  }

  /** @throws Refusal `too-many-requests` */
  private countGuess(request: FastifyRequest, reply: FastifyReply): void {
    this.limit.take(guessesOf(request));
    this.count(addressOf(request), reply);
  }

  private guarded<T>(request: FastifyRequest, reply: FastifyReply, read: () => T): T {
    try {
      return read();
    } catch (error) {
      this.countGuess(request, reply);
      throw error;
    }
  }

  private count(key: string, reply: FastifyReply, requests = 1): void {
    const standing = this.limit.take(key, requests);
    reply.header('ratelimit-policy', this.policy);
    reply.header('ratelimit', limitHeader(standing));
    if (standing.left < 0) throw tooManyRequests(standing.resetSeconds);
  }
}

function unlessRefused<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/** Of a credential, by identity or by this gateway. */
const isRefusal = (error: unknown): boolean =>
  error instanceof CodedError && (error.code === 'credential-refused' || error.code === 'unauthorized');

/** @throws Refusal `unauthorized`, `forbidden` */
function checkNeeds(needs: Needs, caller: Caller | undefined): void {
  if (needs.kind === 'open' || needs.kind === 'anyone') return;
  if (!caller) {
    throw new Refusal('unauthorized', 'Send an API key in the header api_key, or a token as Authorization: Bearer <token>.');
  }
  if (needs.kind === 'caller') return;
  const { permissions, shown } = caller.principal;
  if (needs.anyOf.some((one) => permissions.includes(one))) return;
  if (needs.orAny !== undefined && shown.includes(needs.orAny)) return;
  const names = needs.anyOf.join(' or ');
  throw new Refusal(
    'forbidden',
    `This needs the permission ${names}. Use a credential that carries it.`,
    {},
    { 'www-authenticate': `Bearer realm="plant-shop", error="insufficient_scope", scope="${needs.anyOf.join(' ')}"` },
  );
}
