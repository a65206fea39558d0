import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Needs } from '../access.js';
import type { Caller } from '@plant-shop/credentials/caller';
import type { Credentials } from '@plant-shop/credentials/credentials';
import { shownBy } from '@plant-shop/credentials/shown';
import { networkOf } from '@plant-shop/platform/network';
import { limitHeader, policyHeader, tooManyRequests } from '../limits/rate-limit.headers.js';
import type { RateLimit } from '../limits/rate-limit.js';
import { Refusal } from '../problems/refusal.js';

/** Whose requests are counted when no credential says it: behind trusted proxies, what the first of them saw. */
export const clientAddress = (request: FastifyRequest): string => request.ip;

/** The key under which they are counted. */
const addressOf = (request: FastifyRequest): string => `address:${networkOf(clientAddress(request))}`;

/**
 * What every request of a route passes before anything of its body is read: who it is from, how often they come, and
 * whether they may. Fastify runs it per route (`onRequest`), after routing: there is no path to be matched a second time.
 */
export class Entrance {
  private readonly policy: string;

  constructor(
    private readonly credentials: Pick<Credentials, 'known' | 'check'>,
    private readonly limit: RateLimit,
  ) {
    this.policy = policyHeader(limit.perMinute);
  }

  /** Without waiting where nobody need be asked: the common case costs no turn of the event loop. */
  admit(needs: Needs, request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
    if (needs.kind === 'open') {
      if (needs.countsAs !== undefined) this.count(addressOf(request), reply, needs.countsAs);
      return undefined;
    }
    const shown = this.guarded(request, reply, () => shownBy(request.raw));
    if (shown === undefined) {
      this.count(addressOf(request), reply);
      checkNeeds(needs, undefined);
      return undefined;
    }
    const known = this.guarded(request, reply, () => this.credentials.known(shown));
    if (known) {
      this.enter(known, needs, request, reply);
      return undefined;
    }
    return this.check(shown, needs, request, reply);
  }

  private async check(
    shown: NonNullable<ReturnType<typeof shownBy>>,
    needs: Needs,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const address = addressOf(request);
    // Guessing credentials is limited by where the guesses come from.
    if (this.limit.isUsedUp(address)) this.count(address, reply);
    let caller: Caller;
    try {
      caller = await this.credentials.check(shown, request.id, request.span?.traceparent);
    } catch (error) {
      this.count(address, reply);
      throw error;
    }
    this.enter(caller, needs, request, reply);
  }

  private enter(caller: Caller, needs: Needs, request: FastifyRequest, reply: FastifyReply): void {
    request.caller = caller;
    this.count(caller.credential, reply);
    checkNeeds(needs, caller);
  }

  private guarded<T>(request: FastifyRequest, reply: FastifyReply, read: () => T): T {
    try {
      return read();
    } catch (error) {
      this.count(addressOf(request), reply);
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
