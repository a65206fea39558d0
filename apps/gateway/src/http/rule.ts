import { RouteConfig } from '@nestjs/platform-fastify';
import { access, type Needs, type OperationName } from '../access.js';
import type { Taken } from '../limits/load.js';
import type { Caller } from '@plant-shop/credentials/caller';
import type { Deprecation } from './deprecation.js';

/** The one kind of body that a route takes. */
export type BodyRule =
  /** Travels as the named member of the payload, as the bytes that came. */
  | { readonly kind: 'json'; readonly member: string; readonly top: 'object' | 'array' }
  /** Its fields are members of the payload. */
  | { readonly kind: 'form'; readonly fields: readonly string[] }
  | { readonly kind: 'multipart' }
  /** One JSON object a line, read as a stream by its handler. */
  | { readonly kind: 'lines' }
  /** Passed on unread. */
  | { readonly kind: 'oauthForm' };

export interface RouteRule {
  readonly operation: OperationName;
  readonly needs: Needs;
  /** Absent: a body is not read. */
  readonly body?: BodyRule;
  /** Times the budget of an ordinary request. */
  readonly patience: number;
  /** The operation may revoke credentials: it is answered when this gateway knows which. */
  readonly revokes: boolean;
  /** `If-Match` is honoured. */
  readonly conditional: boolean;
  /**
   * The specification has a GET change something. Then the path has no HEAD, which caches and link checkers send without
   * a thought.
   */
  readonly changes: boolean;
  /** Answers may be long and are compressed for clients that take it. */
  readonly compressed: boolean;
  /** A later release removes the operation. Its answers say so. */
  readonly deprecated?: Deprecation;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    rule?: RouteRule;
    /** On routes that only say which methods their path has. */
    allow?: string;
  }
  interface FastifyRequest {
    /** Absent only where no route was found. */
    rule: RouteRule | undefined;
    /** Absent where nothing is counted. */
    taken: Taken | undefined;
    /** Absent when no credential was shown. */
    caller: Caller | undefined;
  }
}

export const jsonObject = (member: string): BodyRule => ({ kind: 'json', member, top: 'object' });
export const jsonArray = (member: string): BodyRule => ({ kind: 'json', member, top: 'array' });
export const form = (...fields: string[]): BodyRule => ({ kind: 'form', fields });

type RuleOptions = Partial<Pick<RouteRule, 'body' | 'patience' | 'revokes' | 'conditional' | 'changes' | 'compressed' | 'deprecated'>>;

export const ruleFor = (operation: OperationName, options: RuleOptions = {}): RouteRule => ({
  operation,
  needs: access[operation],
  patience: 1,
  revokes: false,
  conditional: false,
  changes: false,
  compressed: false,
  ...options,
});

/** Binds a handler to the line of the access table that has its name; the compiler asks for that line. */
export const Rule =
  (options: RuleOptions = {}) =>
  (target: object, operation: OperationName, descriptor: PropertyDescriptor): void => {
    RouteConfig({ rule: ruleFor(operation, options) })(target, operation, descriptor);
  };
