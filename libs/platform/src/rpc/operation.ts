import type { Type } from '@nestjs/common';

/**
 * The service that checks clients' credentials: only its calls may have a principal. It is the caller of operations that name no others.
 */
export const gateway = 'gateway';

/** One operation that a service offers to others. The method that answers it has the same name, and the log field `rpc` has `pattern`. */
export interface Operation<Payload, Answer> {
  readonly service: string;
  readonly name: string;
  /** `<service>.<name>`: Nest's pattern, also used in logs. */
  readonly pattern: string;
  /** The class of the payload. The called service validates the payload before its controller runs. */
  readonly payload: Type<Payload & object>;
  /** A lost answer to a `read` is `unavailable`; a lost answer to a `write` is `outcome-unknown`. */
  readonly effect: 'read' | 'write';
  /** The broker's accounts that may call it. The called service refuses others. */
  readonly callers: readonly string[];
  /** The codes that it may throw, apart from those common to all operations. */
  readonly errors: readonly string[];
  /** Whether the answer is the state of one resource, with a version. */
  readonly versioned: boolean;
  /** Only for its type: what a call resolves to. */
  readonly answer?: Answer;
}

interface OperationOptions<Code extends string, Caller extends string> {
  /** Default: the gateway. */
  readonly callers?: readonly Caller[];
  readonly errors?: readonly Code[];
  readonly versioned?: boolean;
}

/**
 * Whether an operation takes an Idempotency-Key: it declares `idempotency-key-reused`. The OpenAPI document and the server follow from
 * this: the handler of another operation gets no key, although the gateway sends the key of every POST. The handler of an operation
 * that declares the code must save its answers (`runOnce` or `SavedAnswers`), which nothing checks.
 */
export const takesIdempotencyKey = ({ errors }: Pick<Operation<never, unknown>, 'errors'>): boolean => errors.includes('idempotency-key-reused');

/** The payload class of operations without a payload. */
export class NoPayload {}

type Declare<Code extends string, Caller extends string> = <Answer>() => <Payload extends object>(
  name: string,
  payload: Type<Payload>,
  options?: OperationOptions<Code, Caller>,
) => Operation<Payload, Answer>;

/** Returns functions that declare a service's operations: `read<Answer>()('name', PayloadClass, { errors })`. */
export function operationsOf<Code extends string = never, Caller extends string = never>(
  service: string,
): { readonly read: Declare<Code, Caller>; readonly write: Declare<Code, Caller> } {
  const declare =
    (effect: 'read' | 'write'): Declare<Code, Caller> =>
    <Answer>() =>
    <Payload extends object>(
      name: string,
      payload: Type<Payload>,
      { callers, errors = [], versioned = false }: OperationOptions<Code, Caller> = {},
    ): Operation<Payload, Answer> => ({
      service,
      name,
      pattern: `${service}.${name}`,
      payload,
      effect,
      callers: callers ?? [gateway],
      errors,
      versioned,
    });
  return { read: declare('read'), write: declare('write') };
}
