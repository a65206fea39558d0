import { RequestMapping, RequestMethod } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { AccessPolicy } from '@plant-shop/contracts/access';
import type { BodySpec, ClientOperation } from '@plant-shop/contracts/client-operation';
import type { Deprecation } from '@plant-shop/contracts/deprecation';
import type { Authentication } from '@plant-shop/credentials/authentication';
import type { Slot } from '../limits/concurrency-limiter.js';
import { undocumented, type UndocumentedName } from './undocumented.js';

/** What the gateway does for each request of a route. All of it is known when the gateway starts. */
export interface RouteSpec {
  /** In logs and metrics. */
  readonly operation: string;
  readonly access: AccessPolicy;
  /** Absent if the route reads no body. */
  readonly body?: BodySpec;
  /** Multiplies the time budget of an ordinary request (`REQUEST_BUDGET_MS`). */
  readonly budgetFactor: number;
  /** The operation may revoke credentials; it is answered once this gateway has applied the revocations. */
  readonly revokes: boolean;
  /** `If-Match` is honoured. */
  readonly conditional: boolean;
  /**
   * A GET that, by the specification, changes state. Such a path has no HEAD, since caches and link checkers assume that
   * HEAD is safe.
   */
  readonly unsafeGet: boolean;
  /** Responses may be long and are compressed for clients that accept it. */
  readonly compressed: boolean;
  /** A later release removes the operation; its responses announce that. */
  readonly deprecated?: Deprecation;
}

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
  }
}

export const routeSpecOf = (operation: ClientOperation): RouteSpec => ({
  operation: operation.name,
  access: operation.access,
  ...(operation.body && { body: operation.body }),
  budgetFactor: operation.budgetFactor ?? 1,
  revokes: operation.revokes ?? false,
  conditional: operation.conditional,
  unsafeGet: operation.unsafeGet ?? false,
  compressed: operation.compressed ?? isPaged(operation),
  ...(operation.deprecated && { deprecated: operation.deprecated }),
});

/** Whether the answer is a page of a list, with a link to the next. */
export const isPaged = ({ query = [] }: Pick<ClientOperation, 'query'>): boolean => query.includes('cursor');

/** Binds a handler to a declared operation. Those without such a handler are forwarded: forwarded-operations.ts. */
export const Serves =
  (operation: ClientOperation) =>
  (target: object, key: string, descriptor: PropertyDescriptor): void => {
    RequestMapping({ path: operation.url, method: RequestMethod[operation.method] })(target, key, descriptor);
    RouteConfig({ spec: routeSpecOf(operation) })(target, key, descriptor);
  };

type UndocumentedOptions = Partial<Pick<RouteSpec, 'body' | 'unsafeGet' | 'compressed'>>;

export const undocumentedRoute = (operation: UndocumentedName, options: UndocumentedOptions = {}): RouteSpec => ({
  operation,
  access: undocumented[operation],
  budgetFactor: 1,
  revokes: false,
  conditional: false,
  unsafeGet: false,
  compressed: false,
  ...options,
});

/** Binds a handler to the line of `undocumented` with its name; without that line it does not compile. */
export const Undocumented =
  (options: UndocumentedOptions = {}) =>
  (target: object, operation: UndocumentedName, descriptor: PropertyDescriptor): void => {
    RouteConfig({ spec: undocumentedRoute(operation, options) })(target, operation, descriptor);
  };
