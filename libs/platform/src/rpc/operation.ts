import { randomBytes } from 'node:crypto';
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
 * this: the handler of another operation gets no key, although the gateway sends the key of every POST by a known user that it forwards. The handler of an operation
 * that declares the code must save its answers (`runOnce` or `IdempotentResults`), which nothing checks.
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

// The broker's accounts (deploy/nats/nats.conf, generated) let a service publish only on subjects that have its own name in the place of
// the sender. So a receiver takes the sender from the subject. `*` for a name or an instance gives a subscription's or permission's pattern.

const newInstance = (): string => randomBytes(9).toString('base64url');

/** The subject on which a service receives a caller's batches of calls, in a queue group named after the service. */
export const callsSubject = (service: string, caller: string): string => `rpc.${service}.${caller}`;

/** The prefix of the subjects on which one process receives answers: `<prefix>.<called service>.<batch>`. */
export const answersPrefix = (caller: string, instance = newInstance()): string => `reply.${caller}.${instance}`;

/** The subject of clock requests to a caller. The caller's reply inbox includes it. */
export const clockRequestSubject = (answers: string): string => `${answers}.clock`;

/** The prefix of the subjects on which one process of a service receives clock readings: `<prefix>.<caller>.<request>`. */
export const clockReadingsPrefix = (service: string, instance = newInstance()): string => `clock.${service}.${instance}`;

/** Returns the sender of calls. */
export const callerOf = (calls: string): string => calls.slice(calls.lastIndexOf('.') + 1);

/** Whether a caller may name this reply subject in calls to a service. The broker checks subjects, but no reply subjects. */
export const isAnswersSubject = (subject: string, caller: string, service: string): boolean => isExchange('reply', subject, caller, service);

/** Whether a service may name this reply subject in clock requests to a caller. */
export const isClockReadingsSubject = (subject: string, service: string, caller: string): boolean => isExchange('clock', subject, service, caller);

function isExchange(kind: string, subject: string, receiver: string, sender: string): boolean {
  const names = /^(reply|clock)\.([\w-]+)\.[\w-]+\.([\w-]+)\.[\w-]+$/.exec(subject);
  return names?.[1] === kind && names[2] === receiver && names[3] === sender;
}

/** Returns a reply subject without its last part: it identifies the calling process, and the called service. */
export const prefixOf = (subject: string): string => subject.slice(0, subject.lastIndexOf('.'));
