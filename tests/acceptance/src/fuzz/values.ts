import fc, { type GeneratorValue } from 'fast-check';
import { hostileStrings, wrongValues } from './hostile.js';

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  /** Of an object with any names. */
  readonly additionalProperties?: Schema;
  readonly required?: readonly string[];
}

/** Values that exist in the shop, by parameter or member name. */
export type Known = Readonly<Record<string, readonly unknown[]>>;

/** Lists are short: `boundary` tests their limits, and long lists of users take the shop seconds. */
const maxUsualItems = 3;

/** Generates values that schemas allow, and values just outside. */
export class Values {
  constructor(
    private readonly g: GeneratorValue,
    private readonly schemas: Readonly<Record<string, Schema>>,
    private readonly known: Known,
  ) {}

  pick<T>(values: readonly T[]): T {
    return values[this.g(fc.nat, { max: values.length - 1 })] as T;
  }

  /** True with a probability of 1 in `inTimes`. */
  once(inTimes: number): boolean {
    return this.g(fc.nat, { max: inTimes - 1 }) === 0;
  }

  text(): string {
    return this.g(() => fc.string({ unit: 'binary', maxLength: 40 }));
  }

  /** A value that the schema allows; preferably one that exists in the shop. */
  valid(schema: Schema, name = ''): unknown {
    const known = this.known[name];
    if (known && known.length > 0 && !this.once(4)) return this.pick(known);
    const { const: constant, enum: choices, type, items, properties, additionalProperties } = this.resolved(schema);
    if (constant !== undefined) return constant;
    if (choices) return this.pick(choices);
    if (type === 'array') return Array.from({ length: Math.max(schema.minItems ?? 0, this.g(fc.nat, { max: maxUsualItems })) }, () => this.valid(items ?? {}, name));
    if (additionalProperties) return Object.fromEntries(Array.from({ length: this.pick([0, 1, 2]) }, () => [this.text(), this.valid(additionalProperties)]));
    if (type === 'object') return this.object(properties ?? {}, this.resolved(schema).required ?? []);
    return this.scalar(this.resolved(schema));
  }

  /** A value at the bounds of the schema, or just beyond them. */
  boundary(schema: Schema): unknown {
    const { type, minimum = 0, maximum = Number.MAX_SAFE_INTEGER, minLength = 0, maxLength = 1_000, maxItems = 64, items, enum: choices } = this.resolved(schema);
    switch (type) {
      case 'integer':
      case 'number':
        return this.pick([minimum, minimum - 1, maximum, maximum + 1, 0, 1, minimum + 0.5]);
      case 'string':
        if (choices) return this.pick([...choices, String(choices[0]).toUpperCase(), `${String(choices[0])} `, choices.join()]);
        return this.pick(['x', 'é', '😀']).repeat(Math.max(0, this.pick([minLength - 1, minLength, maxLength, maxLength + 1])));
      case 'array': {
        const one = this.valid(items ?? {});
        return Array.from({ length: this.pick([0, 1, maxItems, maxItems + 1]) }, () => one);
      }
      default:
        return this.pick(wrongValues);
    }
  }

  hostile(): string {
    return this.once(4) ? this.text() : this.pick(hostileStrings);
  }

  wrong(): unknown {
    return this.once(5) ? this.g(() => fc.jsonValue({ maxDepth: 4 })) : this.pick(wrongValues);
  }

  resolved(schema: Schema): Schema {
    const name = schema.$ref?.split('/').at(-1);
    return name === undefined ? schema : (this.schemas[name] ?? {});
  }

  private object(properties: Readonly<Record<string, Schema>>, required: readonly string[]): Record<string, unknown> {
    const chosen = Object.entries(properties).filter(([name]) => required.includes(name) || this.once(2));
    return Object.fromEntries(chosen.map(([name, schema]) => [name, this.valid(schema, name)]));
  }

  private scalar({ type, format, pattern, minimum, maximum, minLength = 0, maxLength = 200 }: Schema): unknown {
    if (type === 'boolean') return this.once(2);
    if (type === 'integer' || type === 'number') return this.g(() => fc.integer(bounds(minimum, maximum)));
    if (format === 'date-time') return this.g(() => fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') })).toISOString();
    if (format === 'uuid') return this.g(() => fc.uuid());
    if (pattern !== undefined) return this.g(() => fc.stringMatching(new RegExp(pattern)));
    return this.g(() => fc.string({ minLength, maxLength: Math.min(maxLength, 30) }));
  }
}

const bounds = (min = 0, max = Number.MAX_SAFE_INTEGER): { min: number; max: number } => ({ min, max });
