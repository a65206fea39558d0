import { MessagePattern } from '@nestjs/microservices';
import { PATTERN_EXTRAS_METADATA } from '@nestjs/microservices/constants.js';
import type { HandlerResult } from './answer.js';
import type { RpcContext } from './context.js';
import type { Operation } from './operation.js';

type Handler<Payload, Answer> = (payload: Payload, context: RpcContext) => Promise<HandlerResult<Answer>>;

/**
 * Nest's `@MessagePattern` for an operation of a contract. The handler gets the payload and the context. The compiler checks its
 * signature against the contract; the transport validates the payload against the operation's class before the handler runs. The
 * transport calls it directly: guards, pipes, interceptors and exception filters are refused at start-up (operation-handlers.ts).
 */
export const Answers =
  <Payload, Answer>(operation: Operation<Payload, Answer>) =>
  <T extends Handler<Payload, Answer>>(
    target: object,
    key: string,
    descriptor: TypedPropertyDescriptor<T>,
  ): void => {
    MessagePattern(operation.pattern, { operation })(target, key, descriptor);
  };

/** Returns the operation that a controller's method answers. */
export function operationOf(method: object): Operation<unknown, unknown> | undefined {
  const extras = Reflect.getMetadata(PATTERN_EXTRAS_METADATA, method) as { readonly operation?: Operation<unknown, unknown> } | undefined;
  return extras?.operation;
}
