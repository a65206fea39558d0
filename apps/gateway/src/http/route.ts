import { RequestMapping, RequestMethod } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { type AccessPolicy, authenticated, limitedByAddress, open, type TokenResource } from '@plant-shop/contracts/permissions';
import type { ClientOperation } from '@plant-shop/contracts/client-operation';
import { schemaOfClass } from '@plant-shop/contracts/schema';
import type { Authentication } from '@plant-shop/credentials/authentication';
import type { FastifyRequest } from 'fastify';
import { type Slot, weightOfBytes } from '../limits/concurrency-limiter.js';
import { bodyShapeOf, type Shape } from './json-body.js';

/**
 * Routes of the gateway that are no operations of the API: HTML pages and their files, identity's pages, MCP, and OAuth, which is described by its
 * discovery documents. Operations are declared in libs/contracts.
 */
export const undocumented = {
  getOAuth: limitedByAddress(1),
  postOAuth: limitedByAddress(1),
  signUp: limitedByAddress(1),
  // Identity stores each for half an hour, before any login. By default one address may begin 600 a minute.
  beginAuthorization: limitedByAddress(100),
  beginAuthorizationByForm: limitedByAddress(100),
  resumeAuthorization: limitedByAddress(1),
  showDocs: open,
  redirectToDocs: open,
  getDocsFile: open,
  showConsole: open,
  getConsoleFile: open,
  getConsoleSettings: open,
  overview: open,
  listProblems: open,
  showProblem: open,
  callMcp: authenticated,
  describeMcp: open,
  getLlmsText: open,
} as const satisfies Record<string, AccessPolicy>;

export type UndocumentedName = keyof typeof undocumented;

/** What the gateway does for each request of a route. All of it is known when the gateway starts. */
export interface RouteSpec extends Pick<ClientOperation, OperationMember> {
  /** The operation's name, in logs and metrics. */
  readonly operation: string;
  /** The media type of the response, if it has only one. */
  readonly type?: string | undefined;
  /** What the JSON body may contain. Absent: it is not checked here. */
  readonly shape?: Shape | undefined;
  /** The query parameters that there are. Absent: others are ignored. */
  readonly parameters?: readonly string[] | undefined;
  /** The parameters among them that have keys: `metadata[key]`. */
  readonly pairs?: readonly string[] | undefined;
  /** What access tokens must be for. Default: the API. */
  readonly resource?: TokenResource;
}

type OperationMember = 'access' | 'weight' | 'batched' | 'body' | 'budgetFactor' | 'revokes' | 'conditional' | 'unsafeGet' | 'compressed' | 'deprecated';

declare module 'fastify' {
  interface FastifyContextConfig {
    spec?: RouteSpec;
    /** The path's methods, on routes that only answer 405. */
    allow?: string;
  }
  interface FastifyRequest {
    /** Absent if no route was found. */
    routeSpec: RouteSpec | undefined;
    /** Absent if the route is not limited. */
    slot: Slot | undefined;
    /** Absent if the request has no valid credential or the operation ignores credentials. */
    authentication: Authentication | undefined;
    /** How long identity took to check the credential, in milliseconds; 0 when it was not asked. Part of the request's time budget. */
    credentialCheckMs: number;
    /** When a request with a body was authenticated, by the process's clock; 0 for others. */
    admittedAt: number;
  }
}

export const routeSpecOf = (operation: ClientOperation): RouteSpec => ({
  ...operation,
  operation: operation.name,
  type: typeOf(operation),
  shape: bodyShapeOf(operation),
  parameters: parametersOf(operation),
  pairs: pairsOf(operation),
  ...(isPaged(operation) && { compressed: true }),
});

const typeOf = ({ answer: { kind } }: ClientOperation): string | undefined =>
  kind === 'image' ? undefined : kind === 'lines' ? 'application/x-ndjson' : 'application/json';

/** Returns the query parameters of our own lists. Petstore's clients may send more than its operations declare. */
const parametersOf = ({ query, url, unsafeGet, body }: ClientOperation): readonly string[] | undefined =>
  unsafeGet || url.includes('/findBy') || /\/:\w+$/.test(url) || body?.kind === 'form' ? undefined : query;

const pairsOf = ({ query = [], calls: [call] }: ClientOperation): readonly string[] | undefined => {
  const pairs = call ? query.filter((name) => schemaOfClass(call.payload).properties[name]?.type === 'object') : [];
  return pairs.length > 0 ? pairs : undefined;
};

/** Returns what a request weighs by its operation. */
export const declaredWeight = ({ routeSpec }: Pick<FastifyRequest, 'routeSpec'>): number => (typeof routeSpec?.weight === 'number' ? routeSpec.weight : 1);

/** With more bytes, a call that its service executes with others weighs more than the eighth of a read that such a call weighs: a basket is executed as so many orders. */
const bytesOfOne = 128;

/** Returns what a call with the request's body weighs (`ConcurrencyLimiter`). */
export function weightOf(request: Pick<FastifyRequest, 'routeSpec' | 'body'>): number {
  const bytes = (request.body as Buffer | undefined)?.length ?? 0;
  const weight = Math.max(declaredWeight(request), weightOfBytes(bytes));
  return request.routeSpec?.batched ? Math.min(weight, Math.max(1, Math.ceil(bytes / bytesOfOne)) / 8) : weight;
}

/** Whether the answer is a page of a list, with a link to the next. */
export const isPaged = ({ query = [], answer }: Pick<ClientOperation, 'query' | 'answer'>): boolean =>
  query.includes('cursor') && ((answer.kind === 'forwarded' && answer.schema.json.type === 'array') || (answer.kind === 'json' && answer.schema.type === 'array'));

/** Binds a handler to a declared operation. Those without such a handler are forwarded: forwarded-operations.ts. */
export const Serves =
  (operation: ClientOperation) =>
  (target: object, key: string, descriptor: PropertyDescriptor): void => {
    RequestMapping({ path: operation.url, method: RequestMethod[operation.method] })(target, key, descriptor);
    RouteConfig({ spec: routeSpecOf(operation) })(target, key, descriptor);
  };

type UndocumentedOptions = Partial<Pick<RouteSpec, 'body' | 'unsafeGet' | 'compressed' | 'weight' | 'resource'>>;

export const undocumentedRoute = (operation: UndocumentedName, options: UndocumentedOptions = {}): RouteSpec => ({
  operation,
  access: undocumented[operation],
  conditional: false,
  ...options,
});

/** Binds a handler to the line of `undocumented` with its name; without that line it does not compile. */
export const Undocumented =
  (options: UndocumentedOptions = {}) =>
  (target: object, operation: UndocumentedName, descriptor: PropertyDescriptor): void => {
    RouteConfig({ spec: undocumentedRoute(operation, options) })(target, operation, descriptor);
  };
