import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { PARAM_ARGS_METADATA, PATTERN_EXTRAS_METADATA } from '@nestjs/microservices/constants.js';
import type { HandlerResult } from './answer.js';
import type { RpcContext } from './context.js';
import type { Operation } from './operation.js';

type Handler<Payload, Answer> = (payload: Payload, context: RpcContext) => Promise<HandlerResult<Answer>>;

/** What `@Answers` records of a method. */
interface Answered {
  readonly operation: Operation<unknown, unknown>;
  readonly hasParameterDecorators: boolean;
}

/**
 * Nest's `@MessagePattern` for an operation of a contract. The handler gets the payload and the context, unless its parameters are
 * decorated otherwise. The compiler checks its signature against the contract; the transport validates the payload against the
 * operation's class before guards, pipes and interceptors run.
 */
export const Answers =
  <Payload, Answer>(operation: Operation<Payload, Answer>) =>
  <T extends Handler<Payload, Answer>>(
    target: object,
    key: string,
    descriptor: TypedPropertyDescriptor<T>,
  ): void => {
    const parameters = Object.values((Reflect.getMetadata(PARAM_ARGS_METADATA, target.constructor, key) as Record<string, { index: number }> | undefined) ?? {});
    const isDecorated = (index: number): boolean => parameters.some((parameter) => parameter.index === index);
    if (!isDecorated(0)) Payload()(target, key, 0);
    if (!isDecorated(1)) Ctx()(target, key, 1);
    const answered: Answered = { operation, hasParameterDecorators: parameters.length > 0 };
    MessagePattern(operation.pattern, answered)(target, key, descriptor);
  };

/** Returns what `@Answers` recorded of a controller's method; undefined for other methods. */
export function answeredBy(method: object): Answered | undefined {
  const extras = Reflect.getMetadata(PATTERN_EXTRAS_METADATA, method) as Partial<Answered> | undefined;
  return extras?.operation && (extras as Answered);
}
