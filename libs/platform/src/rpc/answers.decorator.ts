import { Ctx, MessagePattern, Payload as PayloadParameter } from '@nestjs/microservices';
import type { HandlerResult } from './answer.js';
import type { RpcContext } from './context.js';
import type { Operation } from './operation.js';

type Handler<Payload, Answer> = (payload: Payload, context: RpcContext) => Promise<HandlerResult<Answer>>;

/**
 * Nest's `@MessagePattern` for an operation of a contract. The handler gets the payload and the context. The compiler checks its
 * signature against the contract; the transport validates the payload against the operation's class before the handler runs.
 */
export const Answers =
  <Payload, Answer>(operation: Operation<Payload, Answer>) =>
  <T extends Handler<Payload, Answer>>(
    target: object,
    key: string,
    descriptor: TypedPropertyDescriptor<T>,
  ): void => {
    PayloadParameter()(target, key, 0);
    Ctx()(target, key, 1);
    MessagePattern(operation.pattern, { operation })(target, key, descriptor);
  };
