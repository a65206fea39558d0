/** What travels beside an answer's payload. */
export interface ResponseMeta {
  /** The version of the resource in the payload; it becomes an entity tag. */
  readonly version?: number;
  /** The cursor of the next page, where the payload is a list that goes on; it becomes a `Link` header. */
  readonly next?: string;
  /** The payload is what an earlier request with the same Idempotency-Key was answered. */
  readonly replayed?: true;
  /** What was read is exact for as long as the owner's present stamps have this one among them: for caches. */
  readonly stamp?: string;
}

/** An answer with something beside it. */
abstract class Annotated<T> {
  protected constructor(
    readonly value: T,
    readonly meta: ResponseMeta,
  ) {}
}

/** Value and facts of whatever a handler returned; a bare answer has none. */
export const unwrapResponse = (answer: unknown): { readonly value: unknown; readonly meta: ResponseMeta } =>
  answer instanceof Annotated ? answer : { value: answer, meta: {} };

/** A state of one resource. */
export class Versioned<T> extends Annotated<T> {
  constructor(value: T, version: number, stamp?: string) {
    super(value, { version, ...(stamp !== undefined && { stamp }) });
  }
}

/** One page of a list. */
export class Page<T> extends Annotated<readonly T[]> {
  constructor(value: readonly T[], next?: string, stamp?: string) {
    super(value, { ...(next !== undefined && { next }), ...(stamp !== undefined && { stamp }) });
  }
}

/** The answer that an earlier request with the same Idempotency-Key got. */
export class Replayed extends Annotated<unknown> {
  constructor(value: unknown, facts: ResponseMeta) {
    super(value, { ...facts, replayed: true });
  }
}

/** What a handler returns: the answer, bare or with what travels beside it. */
export type HandlerResult<Answer> =
  | Answer
  | Versioned<Answer>
  | Replayed
  | (Answer extends readonly (infer T)[] ? Page<T> : never);
