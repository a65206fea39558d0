import { CodedError } from '../errors.js';
import type { IdempotencyKey } from '../idempotency/idempotency-key.js';
import type { Deadline } from './deadline.js';
import type { Principal } from './principal.js';

/**
 * What travels with a request from service to service: on whose behalf, under which request id and until when.
 * A handler passes its own context on to the calls that it makes, so one deadline bounds the whole chain.
 */
export class RpcContext {
  constructor(
    readonly requestId: string,
    readonly deadline: Deadline,
    readonly principal?: Principal,
    /** W3C Trace Context: the span that calls made with this context are part of; absent when it is not traced. */
    readonly traceparent?: string,
    /** Of the call that is being carried out; it is not passed on. */
    readonly idempotency?: IdempotencyKey,
  ) {}

  /** @throws CodedError `internal` when the caller sent no principal: the gateway asks for a credential first */
  get caller(): Principal {
    if (this.principal === undefined) throw new CodedError('internal', 'This operation needs a principal.');
    return this.principal;
  }

  /** The same for a part of the work that has a span of its own. */
  within(traceparent: string): RpcContext {
    return new RpcContext(this.requestId, this.deadline, this.principal, traceparent, this.idempotency);
  }

  has(permission: string): boolean {
    return this.principal?.permissions.includes(permission) ?? false;
  }
}
