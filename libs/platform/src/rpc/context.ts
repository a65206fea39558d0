import { CodedError } from '../errors.js';
import type { IdempotencyKey } from '../idempotency/idempotency-key.js';
import type { Deadline } from './deadline.js';
import type { Principal } from './principal.js';

/**
 * The context that travels with a request from service to service: request id and deadline, and from the gateway the principal. A handler
 * passes its context to the calls that it makes, so one deadline bounds the whole chain.
 */
export class RpcContext {
  constructor(
    readonly requestId: string,
    readonly deadline: Deadline,
    /** Absent when the client presented no valid credential, or the gateway did not make the call. */
    readonly principalIfAny?: Principal,
    /** W3C Trace Context: the parent span of calls made with this context; undefined when the request is not traced. */
    readonly traceparent?: string,
    /** The Idempotency-Key of the call that is being handled, if its operation takes one. It is not passed on to other services. */
    readonly idempotency?: IdempotencyKey,
  ) {}

  /** @throws CodedError `internal` when the call has no principal: the gateway should have required a credential */
  get principal(): Principal {
    if (this.principalIfAny === undefined) throw new CodedError('internal', 'This operation needs a principal.');
    return this.principalIfAny;
  }

  /** Returns this context with another parent span. */
  withSpan(traceparent: string): RpcContext {
    return new RpcContext(this.requestId, this.deadline, this.principalIfAny, traceparent, this.idempotency);
  }

  has(permission: string): boolean {
    return this.principalIfAny?.permissions.includes(permission) ?? false;
  }
}
