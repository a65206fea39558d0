/** An answer that is a state of one resource: its version travels beside it and becomes its entity tag. */
export class Versioned<T> {
  constructor(
    readonly value: T,
    readonly version: number,
  ) {}
}

/** One page of a list; the cursor of the next one travels beside it and becomes a `Link` header. */
export class Page<T> {
  constructor(
    readonly value: readonly T[],
    readonly next?: string,
  ) {}
}

/** What a handler returns: the answer, bare or with what travels beside it. */
export type Returned<Answer> = Answer | Versioned<Answer> | (Answer extends readonly (infer T)[] ? Page<T> : never);
