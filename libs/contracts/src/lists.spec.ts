import { describe, expect, it } from '@jest/globals';
import { maxEntryBytes } from '@plant-shop/platform/rpc/batch';
import type { SchemaWithComponents } from './answers.js';
import { clientOperations } from './client-operations.js';
import type { ClientOperation } from './client-operation.js';
import type { JsonSchema } from './schema.js';

interface Shape {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
}

const schemaOf = ({ answer }: ClientOperation): SchemaWithComponents | undefined => (answer.kind === 'forwarded' ? answer.schema : undefined);
const isList = (operation: ClientOperation): boolean => (schemaOf(operation)?.json as Shape | undefined)?.type === 'array';

/** The most bytes that a value of a schema takes as JSON: a character takes at most three, or two if it is escaped. */
function bytesOf(shape: Shape, components: Readonly<Record<string, JsonSchema>>): number {
  if (shape.$ref !== undefined) return bytesOf(components[shape.$ref.replace('#/components/schemas/', '')] as Shape, components);
  if (shape.enum) return Math.max(...shape.enum.map((one) => one.length)) + 2;
  if (shape.type === 'boolean') return 5;
  if (shape.type === 'integer') return 17;
  if (shape.type === 'string') return 2 + (shape.format === undefined ? 3 * (shape.maxLength ?? Infinity) : 36);
  if (shape.type === 'array') return 2 + (shape.maxItems ?? Infinity) * (1 + bytesOf(shape.items!, components));
  return Object.entries(shape.properties ?? {}).reduce((sum, [name, one]) => sum + name.length + 4 + bytesOf(one, components), 2);
}

const lists = clientOperations.filter((operation) => operation.method === 'GET' && isList(operation));

describe('a list', () => {
  it('is what more than ten operations answer', () => {
    expect(lists.length).toBeGreaterThan(10);
  });

  it.each(lists.map((one) => [one.name, one] as const))('%s says its order', (_, { description = '' }) => {
    expect(description).toMatch(/\b(newest|oldest|latest)\b[^.]* first|\bcomes first\b|\bSorted by\b|\bsort\b|\bin the order\b/i);
  });

  it.each(lists.map((one) => [one.name, one] as const))('%s has pages, or all of it fits one RPC message', (_, operation) => {
    const { json, components } = schemaOf(operation)!;
    if (operation.query?.includes('cursor')) expect(operation.query).toContain('limit');
    else expect(bytesOf(json as Shape, components)).toBeLessThan(maxEntryBytes);
    expect((json as Shape).maxItems).toBeDefined();
  });
});
