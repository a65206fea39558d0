import type { Returned } from './answer.js';
import type { RpcContext } from './context.js';
import type { Operation } from './operation.js';
import { MessagePattern } from '@nestjs/microservices';

type Handler<Payload, Answer> = (payload: Payload, context: RpcContext) => Promise<Returned<Answer>>;

/**
 * Nest's `@MessagePattern` for an operation of a contract. The compiler holds the handler against the contract,
 * and the transport validates the payload against the operation's class before the handler runs.
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
