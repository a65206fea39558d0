import { isDeepStrictEqual } from 'node:util';
import type { SchemaWithComponents } from '@plant-shop/contracts/answers';
import { type FieldSchema, type JsonSchema, schemaOfClass } from '@plant-shop/contracts/schema';
import type { Type } from '@nestjs/common';

/** `#/components/schemas` of a document; each reference adds its schema. */
export class Schemas {
  readonly all: Record<string, JsonSchema> = {};

  /** Returns a reference to the schema of a payload class. */
  ofClass(type: Type<object>): JsonSchema {
    const { properties, required } = schemaOfClass(type);
    return this.put(type.name, {
      type: 'object',
      properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, this.ofField(field)])),
      ...(required.length > 0 && { required }),
    });
  }

  /** Returns the schema of a field of a payload class. */
  ofField({ objectOf, items, ...schema }: FieldSchema): JsonSchema {
    if (objectOf) return { ...this.ofClass(objectOf()), ...schema };
    return items ? { ...schema, items: this.ofField(items) } : schema;
  }

  ofAnswer({ json, components }: SchemaWithComponents): JsonSchema {
    for (const [name, schema] of Object.entries(components)) this.put(name, schema);
    return json;
  }

  /** @throws Error if the name already belongs to another schema */
  put(name: string, schema: JsonSchema): JsonSchema {
    const known = this.all[name];
    if (known && !isDeepStrictEqual(known, schema)) throw new Error(`two different schemas are named ${name}`);
    this.all[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  }
}
