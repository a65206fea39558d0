import type { Type } from '@nestjs/common';

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
  /** The codes that it may throw, apart from those common to all operations. */
  readonly errors: readonly string[];
  /** Whether the answer is the state of one resource, with a version. */
  readonly versioned: boolean;
  /** Only for its type: what a call resolves to. */
  readonly answer?: Answer;
}

interface OperationOptions<Code extends string> {
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

type Declare<Code extends string> = <Answer>() => <Payload extends object>(
  name: string,
  payload: Type<Payload>,
  options?: OperationOptions<Code>,
) => Operation<Payload, Answer>;

/** Returns functions that declare a service's operations: `read<Answer>()('name', PayloadClass, { errors })`. */
export function operationsOf<Code extends string = never>(
  service: string,
): { readonly read: Declare<Code>; readonly write: Declare<Code> } {
  const declare =
    (effect: 'read' | 'write'): Declare<Code> =>
    <Answer>() =>
    <Payload extends object>(
      name: string,
      payload: Type<Payload>,
      { errors = [], versioned = false }: OperationOptions<Code> = {},
    ): Operation<Payload, Answer> => ({
      service,
      name,
      pattern: `${service}.${name}`,
      payload,
      effect,
      errors,
      versioned,
    });
  return { read: declare('read'), write: declare('write') };
}
