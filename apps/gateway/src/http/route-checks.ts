import { type IncomingHttpHeaders, METHODS } from 'node:http';
import { Readable } from 'node:stream';
import { isRateLimited } from '@plant-shop/contracts/permissions';
import { HttpError } from '@plant-shop/contracts/problem';
import { checkAccept, contentCodingFor, refusesIdentity } from '@plant-shop/contracts/request-checks';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler, onSendHookHandler, RouteOptions } from 'fastify';
import type { ConcurrencyLimiter } from '../limits/concurrency-limiter.js';
import { routeNotFound } from './problem.js';
import { checkMediaType, compressFromBytes, deprecationHeaders, forEverybody, mediaTypeOf } from './headers.js';
import type { RequestAuthenticator } from './request-authenticator.js';
import { checkQuery } from './input.js';
import type { RouteSpec } from './route.js';

/** A route and its specification. */
export interface ServedRoute {
  readonly method: string;
  readonly url: string;
  readonly spec: RouteSpec;
}

/** A body that takes longer to arrive outlives the time in which a revocation takes effect, so its credential is checked again. */
const slowBodyMs = 1_000;

/**
 * Adds the checks that a route's specification requires, for every route. Throws for a route without a specification, so
 * that no route is served unprotected by omission.
 */
export class Routes {
  readonly served: ServedRoute[] = [];

  constructor(
    private readonly authenticator: RequestAuthenticator,
    private readonly limiter: ConcurrencyLimiter,
  ) {}

  /** Call before any route is registered. Fastify runs `onRoute` also for the HEAD routes that it derives from GET routes. */
  install(instance: FastifyInstance): void {
    instance.decorateRequest('routeSpec', undefined);
    instance.decorateRequest('authentication', undefined);
    instance.decorateRequest('credentialCheckMs', 0);
    instance.decorateRequest('admittedAt', 0);
    instance.decorateRequest('slot', undefined);
    instance.addHook('onRequest', (request, _reply, done) => done(request.is404 ? routeNotFound() : undefined));
    instance.addHook('onRoute', (route) => {
      if (route.config?.allow !== undefined) route.onRequest = refuseMethod(route.config.allow, route.url.includes(':'));
      else this.addChecks(route);
    });
  }

  /** Call after all other routes: the methods that a path lacks answer 405, before credentials and bodies are checked. */
  refuseOtherMethods(instance: FastifyInstance): void {
    instance.register((child, _, done) => {
      for (const [url, allowed] of this.methodsByUrl()) {
        const method = child.supportedMethods.filter((one) => !allowed.has(one) && !child.hasRoute({ method: one, url }));
        if (method.length === 0) continue;
        child.route({ method, url, config: { allow: this.methodsOf(url) }, handler: unreachable });
      }
      done();
    });
  }

  private addChecks(route: RouteOptions): void {
    const spec = route.config?.spec;
    const methods = [route.method].flat();
    if (!spec) throw new Error(`${methods.join()} ${route.url} has no specification`);
    if (spec.unsafeGet && methods.includes('HEAD')) {
      route.onRequest = (_request, _reply, done) => done(methodRefused(this.methodsOf(route.url)));
      return;
    }
    for (const method of methods) this.served.push({ method, url: route.url, spec });
    route.onRequest = this.checksOf(spec, route.url.includes(':'));
    // Otherwise the plug-in adds a hook to uncompressed routes too, for a method of replies that nothing here calls.
    route.compress = spec.compressed ? { threshold: compressFromBytes } : false;
    if (spec.compressed) route.onSend = [streamIfSmall];
    if (spec.body) {
      const { kind } = spec.body;
      const type = mediaTypeOf(spec.body);
      route.preParsing = ({ headers: given }, _reply, _payload, done) =>
        done(kind === 'form' && hasNoBody(given) ? null : errorOf(() => checkMediaType(given, type)));
      route.preHandler = (request, reply, done) => this.checkAfterBody(request, reply, done);
    }
  }

  private checksOf(spec: RouteSpec, hasParameters: boolean): onRequestHookHandler {
    const headers = headersOf(spec);
    return (request, reply, done) => {
      request.routeSpec = spec;
      // First, so that error responses have them too.
      if (headers) reply.headers(headers);
      try {
        // The router matches an empty segment to a parameter, but no resource has an empty name.
        if (hasParameters && hasEmptySegment(request.params as Record<string, string>)) throw routeNotFound();
        negotiate(request, spec);
        const sender = this.authenticator.senderOf(spec.access, request);
        // Health checks take no slot, so they are answered even under overload. A credential that is not cached is checked, and its request
        // served, in the share of its network: whose it is is not known yet. The user's next request has the user's share.
        if (isRateLimited(spec.access) || spec.body) request.slot = request.raw.agentSlot ?? this.limiter.acquire(sender.client, request.raw, reply.raw, readingOf(spec));
        const admitted = this.authenticator.admit(spec.access, sender, request, reply);
        if (admitted === undefined) finishAdmission(spec, request, done);
        else admitted.then(() => finishAdmission(spec, request, done), done);
      } catch (error) {
        done(error as Error);
      }
    };
  }

  private checkAfterBody(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    const error = errorOf(() => {
      if (request.slot) this.limiter.beginWork(request.slot);
      checkQuery(request);
      this.authenticator.countRegistrations(request, reply);
    });
    if (error || performance.now() - request.admittedAt < slowBodyMs) done(error);
    else this.authenticator.recheck(request).then(() => done(), done);
  }

  /** The value of `Allow`. */
  private methodsOf(url: string): string {
    return [...(this.methodsByUrl().get(url) ?? [])].sort().join(', ');
  }

  private methodsByUrl(): Map<string, Set<string>> {
    const methods = new Map<string, Set<string>>();
    for (const { method, url } of this.served) {
      const existing = methods.get(url);
      if (existing) existing.add(method);
      else methods.set(url, new Set([method]));
    }
    return methods;
  }
}

/** Petstore v3 sends the fields of its form in the query, without a body. */
const hasNoBody = (headers: IncomingHttpHeaders): boolean => headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;

/** Registers all of Node's methods: Fastify knows eight, but a path must answer 405 to the others too. */
export function supportAllMethods(instance: FastifyInstance): void {
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !instance.supportedMethods.includes(method)) instance.addHttpMethod(method, { hasBody: true });
  }
}

/** How the body of a route is read, if it has one: uploads and imports are worked on while they arrive. */
const readingOf = ({ body }: RouteSpec): 'whole' | 'streamed' | undefined =>
  body && (body.kind === 'multipart' || body.kind === 'lines' ? 'streamed' : 'whole');

/** Profiles, orders, audit entries, secrets: what depends on the caller is stored nowhere (`gatewayHeaders`), nor are answers to changes. */
function headersOf({ access, body, unsafeGet, deprecated }: RouteSpec): Readonly<Record<string, string>> | undefined {
  const isForEverybody = access.kind === 'open' && !body && !unsafeGet;
  if (!isForEverybody && !deprecated) return undefined;
  return { ...(isForEverybody && { 'cache-control': forEverybody }), ...(deprecated && deprecationHeaders(deprecated)) };
}

/** Decides for the compression plug-in, which knows neither weights of `identity` nor what `*` leaves out. @throws HttpError `not-acceptable` */
function negotiate({ headers }: FastifyRequest, { type, compressed }: RouteSpec): void {
  if (type !== undefined) checkAccept(headers, type);
  if (compressed) headers['accept-encoding'] = `${contentCodingFor(headers, ['br', 'gzip'])}${refusesIdentity(headers) ? ', identity;q=0' : ''}`;
  else contentCodingFor(headers, []);
}

/** The plug-in compresses short answers only as streams. */
const streamIfSmall: onSendHookHandler = (request, _reply, payload, done) => {
  const isShort = (typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length < compressFromBytes;
  done(null, isShort && refusesIdentity(request.headers) ? Readable.from([payload]) : payload);
};

function finishAdmission(spec: RouteSpec, request: FastifyRequest, done: (error?: Error) => void): void {
  if (!spec.body) {
    done(errorOf(() => checkQuery(request)));
    return;
  }
  // Type and size of the body are checked first, then the query in `preHandler`.
  request.admittedAt = performance.now();
  done();
}

function hasEmptySegment(parameters: Record<string, string>): boolean {
  for (const name in parameters) if (parameters[name] === '' && name !== '*') return true;
  return false;
}

function errorOf(check: () => void): Error | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

const refuseMethod =
  (allow: string, hasParameters: boolean): onRequestHookHandler =>
  (request, _reply, done) =>
    done(
      hasParameters && hasEmptySegment(request.params as Record<string, string>)
        ? routeNotFound()
        : methodRefused(allow),
    );

const methodRefused = (allow: string): HttpError => new HttpError('method-not-allowed', `This path has the methods ${allow}.`, {}, { allow });

const unreachable = (): never => {
  throw new Error('refused before its handler');
};
