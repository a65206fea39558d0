import { METHODS } from 'node:http';
import type { FastifyInstance, FastifyRequest, onRequestHookHandler, RouteOptions } from 'fastify';
import { isCounted } from '../access.js';
import type { Load } from '../limits/load.js';
import { Refusal } from '../problems/refusal.js';
import { routeNotFound } from '../problems/problem.js';
import { compressFromBytes } from './compression.js';
import { deprecationHeaders } from './deprecation.js';
import type { Entrance } from './entrance.js';
import { checkQuery } from './input.js';
import { checkMediaType } from './media-type.js';
import type { RouteRule } from './rule.js';

/** A route as it is served. */
export interface ServedRoute {
  readonly method: string;
  readonly url: string;
  readonly rule: RouteRule;
}

/**
 * Puts the checks in front of every route, as the rule in the route's own config asks for them. A route without a rule
 * keeps the service from starting: nothing is served by omission.
 */
export class Routes {
  readonly served: ServedRoute[] = [];

  constructor(
    private readonly entrance: Entrance,
    private readonly load: Load,
  ) {}

  /** Before any route is registered. Fastify also calls this for the HEAD routes that it derives from GET ones. */
  watch(instance: FastifyInstance): void {
    instance.decorateRequest('rule', undefined);
    instance.decorateRequest('caller', undefined);
    instance.decorateRequest('taken', undefined);
    instance.addHook('onRequest', (request, reply, done) => {
      reply.header('x-request-id', request.id);
      if (request.is404) done(routeNotFound());
      else if (request.raw.headers.host === undefined && request.raw.httpVersion === '1.1') done(hostMissing());
      else done();
    });
    instance.addHook('onRoute', (route) => {
      if (route.config?.allow !== undefined) route.onRequest = refuseMethod(route.config.allow, route.url.includes(':'));
      // Where preflights end that a plug-in's hook has answered by then.
      else if (route.method === 'OPTIONS' && route.url === '*') return;
      else this.guard(route);
    });
  }

  /** After all other routes: every method that a path lacks answers 405, before credentials and bodies are looked at. */
  refuseOtherMethods(instance: FastifyInstance): void {
    instance.register((child, _, done) => {
      for (const [url, allowed] of this.methodsByUrl()) {
        const method = child.supportedMethods.filter((one) => !allowed.has(one) && !child.hasRoute({ method: one, url }));
        if (method.length === 0) continue;
        child.route({ method, url, config: { allow: [...allowed].sort().join(', ') }, handler: unreachable });
      }
      done();
    });
  }

  private guard(route: RouteOptions): void {
    const rule = route.config?.rule;
    const methods = [route.method].flat();
    if (!rule) throw new Error(`${methods.join()} ${route.url} has no line in the access table`);
    if (rule.changes && methods.includes('HEAD')) {
      route.onRequest = refuseMethod('GET', false);
      return;
    }
    for (const method of methods) this.served.push({ method, url: route.url, rule });
    route.onRequest = this.enter(rule, route.url.includes(':'));
    if (rule.compressed) route.compress = { threshold: compressFromBytes };
    if (rule.body) {
      const { kind } = rule.body;
      route.preParsing = (request, _reply, _payload, done) => done(fault(() => checkMediaType(request.headers['content-type'], kind)));
      route.preHandler = (request, _reply, done) => done(fault(() => checkQuery(request)));
    }
  }

  private enter(rule: RouteRule, hasParameters: boolean): onRequestHookHandler {
    const announced = rule.deprecated && deprecationHeaders(rule.deprecated);
    return (request, reply, done) => {
      request.rule = rule;
      // First, so that refusals say it too.
      if (announced) reply.headers(announced);
      try {
        // The router matches an empty segment to a parameter; nothing has an empty name.
        if (hasParameters && hasEmpty(request.params as Record<string, string>)) throw routeNotFound();
        // Who watches the gateway is answered also when there is too much to do.
        if (isCounted(rule.needs) || rule.body) request.taken = this.load.enter(reply.raw);
        const admitted = this.entrance.admit(rule.needs, request, reply);
        if (admitted === undefined) enterInput(rule, request, done);
        else admitted.then(() => enterInput(rule, request, done), done);
      } catch (error) {
        done(error as Error);
      }
    };
  }

  private methodsByUrl(): Map<string, Set<string>> {
    const methods = new Map<string, Set<string>>();
    for (const { method, url } of this.served) {
      const known = methods.get(url);
      if (known) known.add(method);
      else methods.set(url, new Set([method]));
    }
    return methods;
  }
}

/** Fastify knows eight methods; a path must answer 405 to the others too. */
export function supportAllMethods(instance: FastifyInstance): void {
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !instance.supportedMethods.includes(method)) instance.addHttpMethod(method, { hasBody: true });
  }
}

function enterInput(rule: RouteRule, request: FastifyRequest, done: (error?: Error) => void): void {
  // With a body to come, its type and size are judged first.
  done(rule.body ? undefined : fault(() => checkQuery(request)));
}

function hasEmpty(parameters: Record<string, string>): boolean {
  for (const name in parameters) if (parameters[name] === '' && name !== '*') return true;
  return false;
}

function fault(check: () => void): Error | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** RFC 9112, section 3.2 */
const hostMissing = (): Refusal => new Refusal('malformed-request', 'Send a Host header.');

const refuseMethod =
  (allow: string, hasParameters: boolean): onRequestHookHandler =>
  (request, _reply, done) =>
    done(
      hasParameters && hasEmpty(request.params as Record<string, string>)
        ? routeNotFound()
        : new Refusal('method-not-allowed', `This path has the methods ${allow}.`, {}, { allow }),
    );

const unreachable = (): never => {
  throw new Error('refused before its handler');
};
