import type { ClassConstructor } from 'class-transformer';
import { getMetadataStorage } from 'class-validator';

// What the payload classes take, as JSON Schema 2020-12. The decorators of fields.ts say it beside the rule that they check,
// so that what is documented and what is refused cannot differ.

/** A JSON Schema; only what is looked into here is named. */
export interface JsonSchema {
  readonly type?: string;
  readonly items?: JsonSchema;
  readonly [keyword: string]: unknown;
}

/** What one decorator says of a field. */
export interface FieldSchema extends JsonSchema {
  /** Instead of other keywords: an object of this class. */
  readonly objectOf?: () => ClassConstructor<object>;
  readonly items?: FieldSchema;
}

const fieldSchemas = new WeakMap<object, Map<string | symbol, FieldSchema>>();

/** Says what a field holds; several on one field add up. */
export const Schema =
  (schema: FieldSchema): PropertyDecorator =>
  (prototype, property) => {
    const fields = fieldSchemas.get(prototype) ?? new Map<string | symbol, FieldSchema>();
    fieldSchemas.set(prototype, fields.set(property, mergeSchemas(fields.get(property) ?? {}, schema)));
  };

/** For people: what the field means, beyond its name and type. */
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
 * The fields that a payload class validates, its base classes' included.
 * @throws Error for a field that is validated without anything said of it: it would be missing in the document
 */
export function schemaOfClass(type: ClassConstructor<object>): ClassSchema {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const names = [...new Set(rules.map((rule) => rule.propertyName))];
  const optional = new Set(rules.flatMap((rule) => (rule.type === optionalType ? [rule.propertyName] : [])));
  return {
    properties: Object.fromEntries(names.map((name) => [name, fieldOf(type, name)])),
    required: names.filter((name) => !optional.has(name)),
  };
}

/** What `IsOptional` registers. */
const optionalType = 'conditionalValidation';

function fieldOf(type: ClassConstructor<object>, name: string): FieldSchema {
  for (let at: object | null = type.prototype as object; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const field = fieldSchemas.get(at)?.get(name);
    if (field) return field;
  }
  throw new Error(`${type.name}.${name} has rules and no schema`);
}
