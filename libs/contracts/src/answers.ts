import { metadataLimits } from './fields.js';
import type { JsonSchema } from './schema.js';

// JSON Schemas of answers. An answer's type follows from its schema (`AnswerOf`).

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

/** The type that a schema describes. */
export type AnswerOf<Schema> = Schema extends AnswerSchema<infer T> ? T : never;

interface IsOptional {
  readonly optional: SchemaWithComponents;
}

/** The schemas of an object's members. */
export type Members = Readonly<Record<string, SchemaWithComponents | IsOptional>>;

/** The type of an object with these members. */
type ObjectOf<M> = Flat<
  { readonly [K in keyof M as M[K] extends IsOptional ? never : K]: AnswerOf<M[K]> } & {
    readonly [K in keyof M as M[K] extends IsOptional ? K : never]?: M[K] extends { readonly optional: infer Schema } ? AnswerOf<Schema> : never;
  }
>;

type Flat<T> = { [K in keyof T]: T[K] };

const inlineSchema = <T>(json: JsonSchema): AnswerSchema<T> => ({ json, components: {} });

export const optional = <T>(schema: AnswerSchema<T>): OptionalMember<T> => ({ optional: schema });

/** Returns the schema with a description for human readers. */
export const described = <T>(schema: AnswerSchema<T>, description: string): AnswerSchema<T> => ({
  json: { ...schema.json, description },
  components: schema.components,
});

/** Returns a function that makes the schema of an object from its members, as a component of the given name. */
export const objectOf =
  (name: string, description?: string) =>
  <const M extends Members>(members: M): AnswerSchema<ObjectOf<M>> => {
    const all = Object.entries(members).map(([key, one]) =>
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

/** Texts by name, as `Metadata` of fields.ts admits. */
export const metadata: AnswerSchema<Readonly<Record<string, string>>> = inlineSchema({
  type: 'object',
  maxProperties: metadataLimits.pairs,
  additionalProperties: { type: 'string', maxLength: metadataLimits.value },
});

export const boolean: AnswerSchema<boolean> = inlineSchema({ type: 'boolean' });

/** The only value that a member may have. */
export const always = <const T extends boolean>(value: T): AnswerSchema<T> => inlineSchema({ type: 'boolean', const: value });

/** One of two objects, which have different required members. */
export const eitherOf = <A, B>(one: AnswerSchema<A>, other: AnswerSchema<B>): AnswerSchema<A | B> => ({
  json: { oneOf: [one.json, other.json] },
  components: { ...one.components, ...other.components },
});

/** Always `YYYY-MM-DDTHH:mm:ss.SSSZ`. */
export const instant: AnswerSchema<string> = inlineSchema({
  type: 'string',
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
});

export const uuid: AnswerSchema<string> = inlineSchema({ type: 'string', format: 'uuid' });
