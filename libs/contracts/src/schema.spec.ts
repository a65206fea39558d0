import { describe, expect, it } from '@jest/globals';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import type { Type } from '@nestjs/common';
import { IsOptional, IsString } from 'class-validator';
import { catalog } from './catalog.js';
import { Integer, ObjectsOf, Text } from './fields.js';
import { identity } from './identity.js';
import { type ClassSchema, Description, type FieldSchema, schemaOfClass } from './schema.js';
import { store } from './store.js';

class Leaf {
  @Text({ max: 10 })
  @Description('On a branch.')
  name: string;
}

class Branch {
  @IsOptional()
  @Integer(1, 5)
  length?: number;
}

class Tree extends Branch {
  @ObjectsOf(() => Leaf, { size: 3, min: 1 })
  leaves: Leaf[];
}

describe('the JSON Schema of a payload class', () => {
  it('contains the rules and descriptions of its decorators, and those of base classes', () => {
    expect(schemaOfClass(Leaf)).toEqual({
      properties: { name: { type: 'string', minLength: 1, maxLength: 10, description: 'On a branch.' } },
      required: ['name'],
    });
    const tree = schemaOfClass(Tree);
    expect(tree.required).toEqual(['leaves']);
    expect(tree.properties['length']).toEqual({ type: 'integer', minimum: 1, maximum: 5 });
    expect(tree.properties['leaves']).toMatchObject({ type: 'array', minItems: 1, maxItems: 3 });
    expect(tree.properties['leaves']?.items?.objectOf?.()).toBe(Leaf);
  });

  it('is refused if a field has validation rules but no schema', () => {
    class WithoutSchema {
      @IsString()
      name: string;
    }
    expect(() => schemaOfClass(WithoutSchema)).toThrow('WithoutSchema.name has validation rules but no schema');
  });
});

const operations: readonly Operation<object, unknown>[] = [catalog, store, identity].flatMap((one) =>
  Object.values<Operation<object, unknown>>(one),
);

describe('every operation', () => {
  const byPattern = operations.map((operation) => [operation.pattern, operation] as const);
  it.each(byPattern)('%s has a payload class with a complete schema', (_, { payload }) => {
    const classesIn = ({ properties }: ClassSchema): Type<object>[] =>
      Object.values(properties).flatMap((field: FieldSchema) => {
        const nested = (field.items ?? field).objectOf;
        if (!nested) expect(typeof (field.items ?? field).type).toBe('string');
        return nested ? [nested(), ...classesIn(schemaOfClass(nested()))] : [];
      });
    expect(() => classesIn(schemaOfClass(payload))).not.toThrow();
  });
});
