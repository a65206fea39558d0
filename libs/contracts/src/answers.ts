import type { JsonSchema } from './schema.js';

// JSON Schemas of answers. Each is typed by the interface that it describes, and does not compile if its members or their types
// differ.

export interface SchemaWithComponents {
  readonly json: JsonSchema;
  /** The schemas that `json` references as `#/components/schemas/<name>`, by name. */
  readonly components: Readonly<Record<string, JsonSchema>>;
}

export interface AnswerSchema<T> extends SchemaWithComponents {
  /** Exists only as a type. Makes `T` invariant: neither a wider nor a narrower type is assignable. */
  readonly exactly?: (value: T) => T;
}

/** A member that may be absent. */
export interface OptionalMember<T> {
  readonly optional: AnswerSchema<T>;
}

type Members<T> = {
  readonly [K in keyof T]-?: object extends Pick<T, K> ? OptionalMember<Exclude<T[K], undefined>> : AnswerSchema<T[K]>;
};

const inlineSchema = <T>(json: JsonSchema): AnswerSchema<T> => ({ json, components: {} });

export const optional = <T>(schema: AnswerSchema<T>): OptionalMember<T> => ({ optional: schema });

/** Returns the schema with a description for human readers. */
export const described = <T>(schema: AnswerSchema<T>, description: string): AnswerSchema<T> => ({
  json: { ...schema.json, description },
  components: schema.components,
});

/** Returns a function that makes the schema of `T` from its members, as a component of the given name. */
export const objectOf =
  <T extends object>(name: string, description?: string) =>
  (members: Members<T>): AnswerSchema<T> => {
    // `as never`: TypeScript cannot resolve `Members<T>` for a generic T.
    const all = Object.entries<AnswerSchema<unknown> | OptionalMember<unknown>>(members as never).map(([key, one]) =>
      'optional' in one ? { key, schema: one.optional, isRequired: false } : { key, schema: one, isRequired: true },
    );
    const own = {
      type: 'object',
      ...(description !== undefined && { description }),
      properties: Object.fromEntries(all.map(({ key, schema }) => [key, schema.json])),
      required: all.flatMap(({ key, isRequired }) => (isRequired ? [key] : [])),
    };
    return {
      json: { $ref: `#/components/schemas/${name}` },
      components: Object.assign({ [name]: own }, ...all.map(({ schema }) => schema.components)) as Record<string, JsonSchema>,
    };
  };

export const listOf = <T>({ json, components }: AnswerSchema<T>, maxItems?: number): AnswerSchema<readonly T[]> => ({
  json: { type: 'array', items: json, ...(maxItems !== undefined && { maxItems }) },
  components,
});

export const oneOf = <const T extends string>(values: readonly T[]): AnswerSchema<T> =>
  inlineSchema({ type: 'string', enum: values });

export const integer = (minimum: number, maximum: number = Number.MAX_SAFE_INTEGER): AnswerSchema<number> =>
  inlineSchema({ type: 'integer', ...(maximum > 2_147_483_647 && { format: 'int64' }), minimum, maximum });

export const id = integer(1);

export const text = (maxLength?: number): AnswerSchema<string> =>
  inlineSchema({ type: 'string', ...(maxLength !== undefined && { maxLength }) });

export const boolean: AnswerSchema<boolean> = inlineSchema({ type: 'boolean' });

/** Always `YYYY-MM-DDTHH:mm:ss.SSSZ`. */
export const instant: AnswerSchema<string> = inlineSchema({
  type: 'string',
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
});

export const uuid: AnswerSchema<string> = inlineSchema({ type: 'string', format: 'uuid' });
