import type { ClassConstructor } from 'class-transformer';

/** What one service answers to others. The one name runs from the HTTP handler to the log field `rpc`. */
export interface Operation<Payload, Answer> {
  readonly service: string;
  readonly name: string;
  /** `<service>.<name>`, as Nest's pattern and in logs. */
  readonly pattern: string;
  /** Validated by the answering service before its controller sees it. */
  readonly payload: ClassConstructor<Payload & object>;
  /** A lost answer to a `read` is `unavailable`; a lost answer to a `write` is `outcome-unknown`. */
  readonly effect: 'read' | 'write';
  /** What it may refuse, beside `invalid-input` and what the mechanisms answer by themselves. */
  readonly errors: readonly string[];
  /** The answer is a state of one resource, with its version beside it. */
  readonly versioned: boolean;
  /** Type only: what the promise of a call resolves to. */
  readonly answer?: Answer;
}

interface Promises<Code extends string> {
  readonly errors?: readonly Code[];
  readonly versioned?: boolean;
}

/** For operations that ask nothing more than their name. */
export class NoPayload {}

type Declare<Code extends string> = <Answer>() => <Payload extends object>(
  name: string,
  payload: ClassConstructor<Payload>,
  promises?: Promises<Code>,
) => Operation<Payload, Answer>;

/** Declares operations: `read<Answer>()('name', PayloadClass, { errors })`. Called once per contract file. */
export function operationsOf<Code extends string = never>(
  service: string,
): { readonly read: Declare<Code>; readonly write: Declare<Code> } {
  const declare =
    (effect: 'read' | 'write'): Declare<Code> =>
    <Answer>() =>
    <Payload extends object>(
      name: string,
      payload: ClassConstructor<Payload>,
      { errors = [], versioned = false }: Promises<Code> = {},
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
