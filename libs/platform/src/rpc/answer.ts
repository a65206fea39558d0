/** Metadata that travels beside an answer's payload. */
export interface ResponseMeta {
  /** The version of the resource in the payload. It becomes part of an entity tag. */
  readonly version?: number;
  /** The cursor of the next page, if the list has one. It becomes a `Link` header. */
  readonly next?: string;
  /** The payload is the answer to an earlier request with the same Idempotency-Key. */
  readonly replayed?: true;
  /** For caches: the payload is up to date as long as the owning service still lists this stamp. */
  readonly stamp?: string;
}

/** An answer with metadata. */
abstract class Annotated<T> {
  protected constructor(
    readonly value: T,
    readonly meta: ResponseMeta,
  ) {}
}

/** Returns the value and the metadata of a handler's result; a bare answer has no metadata. */
export const unwrapResponse = (answer: unknown): { readonly value: unknown; readonly meta: ResponseMeta } =>
  answer instanceof Annotated ? answer : { value: answer, meta: {} };

/** The state of one resource, with its version. */
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

/** The answer to an earlier request with the same Idempotency-Key. */
export class Replayed extends Annotated<unknown> {
  constructor(value: unknown, meta: ResponseMeta) {
    super(value, { ...meta, replayed: true });
  }
}

/** What a handler returns: the answer, bare or with metadata. */
export type HandlerResult<Answer> =
  | Answer
  | Versioned<Answer>
  | Replayed
  | (Answer extends readonly (infer T)[] ? Page<T> : never);
