import { RouteConfig } from '@nestjs/platform-fastify';
import { access, type AccessPolicy, type OperationName } from '../access.js';
import type { Slot } from '../limits/concurrency-limiter.js';
import type { Caller } from '@plant-shop/credentials/caller';
import type { Deprecation } from './deprecation.js';

/** The kind of body that a route accepts. */
export type BodySpec =
  /** Becomes the named member of the payload, byte for byte. */
  | { readonly kind: 'json'; readonly member: string; readonly top: 'object' | 'array' }
  /** Its fields become members of the payload. */
  | { readonly kind: 'form'; readonly fields: readonly string[] }
  | { readonly kind: 'multipart' }
  /** One JSON object per line, which the handler reads as a stream. */
  | { readonly kind: 'lines' }
  /** Forwarded unread. */
  | { readonly kind: 'oauthForm' };

export interface RouteSpec {
  readonly operation: OperationName;
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
    caller: Caller | undefined;
  }
}

export const jsonObject = (member: string): BodySpec => ({ kind: 'json', member, top: 'object' });
export const jsonArray = (member: string): BodySpec => ({ kind: 'json', member, top: 'array' });
export const form = (...fields: string[]): BodySpec => ({ kind: 'form', fields });

type RouteSpecOptions = Partial<Omit<RouteSpec, 'operation' | 'access'>>;

export const routeSpecFor = (operation: OperationName, options: RouteSpecOptions = {}): RouteSpec => ({
  operation,
  access: access[operation],
  budgetFactor: 1,
  revokes: false,
  conditional: false,
  unsafeGet: false,
  compressed: false,
  ...options,
});

/** Binds a handler to the entry of the access table with its name; without that entry it does not compile. */
export const Route =
  (options: RouteSpecOptions = {}) =>
  (target: object, operation: OperationName, descriptor: PropertyDescriptor): void => {
    RouteConfig({ spec: routeSpecFor(operation, options) })(target, operation, descriptor);
  };
