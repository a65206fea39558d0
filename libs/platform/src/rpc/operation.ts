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
  /** Type only: what the promise of a call resolves to. */
  readonly answer?: Answer;
}

/** For operations that ask nothing more than their name. */
export class NoPayload {}

type Declare = <Answer>() => <Payload extends object>(
  name: string,
  payload: ClassConstructor<Payload>,
) => Operation<Payload, Answer>;

/** Declares operations: `read<Answer>()('name', PayloadClass)`. Called once per contract file. */
export function operationsOf(service: string): { readonly read: Declare; readonly write: Declare } {
  const declare = (effect: 'read' | 'write'): Declare => {
    return <Answer>() =>
      <Payload extends object>(name: string, payload: ClassConstructor<Payload>): Operation<Payload, Answer> => ({
        service,
        name,
        pattern: `${service}.${name}`,
        payload,
        effect,
      });
  };
  return { read: declare('read'), write: declare('write') };
}
