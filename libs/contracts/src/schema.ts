import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';

// JSON Schemas (2020-12) of the payload classes. The decorators of fields.ts declare a field's schema together with its
// validation rule, so that documentation and validation cannot differ.

/** A JSON Schema. Only the keywords that the code reads are listed. */
export interface JsonSchema {
  /** A list of types if `null` is a value, too. */
  readonly type?: string | readonly unknown[];
  readonly items?: JsonSchema;
  readonly [keyword: string]: unknown;
}

/** The part of a field's schema that one decorator declares. */
export interface FieldSchema extends JsonSchema {
  /** The field is an object of this class; replaces all other keywords. */
  readonly objectOf?: () => Type<object>;
  /** `null` is a value, too. */
  readonly clearable?: true;
  readonly items?: FieldSchema;
}

const fieldSchemas = new WeakMap<object, Map<string | symbol, FieldSchema>>();

/** Declares a part of a field's schema. Several decorators on one field are merged. */
export const Schema =
  (schema: FieldSchema): PropertyDecorator =>
  (prototype, property) => {
    const fields = fieldSchemas.get(prototype) ?? new Map<string | symbol, FieldSchema>();
    fieldSchemas.set(prototype, fields.set(property, mergeSchemas(fields.get(property) ?? {}, schema)));
  };

/** Describes a field to human readers, beyond its name and type. */
export const Description = (description: string): PropertyDecorator => Schema({ description });

const mergeSchemas = (one: FieldSchema, other: FieldSchema): FieldSchema => ({
  ...one,
  ...other,
  ...(one.items && other.items && { items: mergeSchemas(one.items, other.items) }),
});

export interface ClassSchema {
  readonly properties: Readonly<Record<string, FieldSchema>>;
  readonly required: readonly string[];
}

/**
 * Returns the schemas of all fields that a payload class validates, including those of its base classes.
 * @throws Error for a validated field without a schema, which would be missing in the document
 */
export function schemaOfClass(type: Type<object>): ClassSchema {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const names = [...new Set(rules.map((rule) => rule.propertyName))];
  const optional = new Set(rules.flatMap((rule) => (rule.type === optionalType ? [rule.propertyName] : [])));
  return {
    properties: Object.fromEntries(names.map((name) => [name, fieldOf(type, name)])),
    required: names.filter((name) => !optional.has(name)),
  };
}

/** The type of rule that `IsOptional` registers. */
const optionalType = 'conditionalValidation';

function fieldOf(type: Type<object>, name: string): FieldSchema {
  for (let at: object | null = type.prototype as object; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const field = fieldSchemas.get(at)?.get(name);
    if (field) return field;
  }
  throw new Error(`${type.name}.${name} has validation rules but no schema`);
}
