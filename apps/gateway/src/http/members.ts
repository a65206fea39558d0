import type { Type } from '@nestjs/common';
import type { ClientOperation } from '@plant-shop/contracts/client-operation';
import { clientOperations } from '@plant-shop/contracts/client-operations';
import { type FieldSchema, type JsonSchema, schemaOfClass } from '@plant-shop/contracts/schema';
import type { FieldError } from '@plant-shop/platform/errors';

// Refuses what a request has and its operation does not declare, since the client means something by it: `{"qty": 5}` is no order of five
// units. The gateway checks this, not the service: see docs/decisions/validation.md.

/** The members that an object, or each object of a list, may have; undefined for one whose content is not checked, null if only answers have it. */
export type Shape = ReadonlyMap<string, Shape | undefined | null>;

/** The most undeclared members of one request that an error names. */
const maxNamed = 10;
/** Longer names are not quoted in full. */
export const maxNameLength = 100;

/** Returns the shape of an operation's JSON body; undefined if it has none. */
export function bodyShapeOf({ body, calls, url }: Pick<ClientOperation, 'body' | 'calls' | 'url'>): Shape | undefined {
  if (body?.kind !== 'json' || !calls[0]) return undefined;
  const type = nestedType(schemaOfClass(calls[0].payload).properties[body.member]);
  // Also accepts what only answers have, so that a resource that was read can be changed and sent back.
  return type && shapeOf(type, clientOperations.filter((one) => one.url === url || (one.method === 'GET' && isEntryOf(one.url, url))).map(answerOf));
}

const isEntryOf = (url: string, list: string): boolean => url.startsWith(`${list}/:`) && !url.slice(list.length + 2).includes('/');

/** A schema, and those that it references. */
interface Answer {
  readonly json: JsonSchema | undefined;
  readonly components: Readonly<Record<string, JsonSchema>>;
}

const answerOf = ({ answer }: ClientOperation): Answer =>
  answer.kind === 'forwarded' ? answer.schema : { json: undefined, components: {} };

/** Returns the shape of a class. @param answers that have the members of the same resource */
export function shapeOf(type: Type<object>, answers: readonly Answer[]): Shape {
  const answered = answers.map((one) => ({ members: membersOf(one), components: one.components }));
  const shape = new Map<string, Shape | undefined | null>(answered.flatMap(({ members }) => Object.keys(members)).map((name) => [name, null]));
  for (const [name, field] of Object.entries(schemaOfClass(type).properties)) {
    const nested = nestedType(field);
    shape.set(name, nested && shapeOf(nested, answered.map(({ members, components }) => ({ json: members[name], components }))));
  }
  return shape;
}

const nestedType = (field: FieldSchema | undefined): Type<object> | undefined => (field?.objectOf ?? field?.items?.objectOf)?.();

/** Returns the schemas of the members of an object, or of the objects of a list. */
function membersOf({ json, components }: Answer): Readonly<Record<string, JsonSchema>> {
  const schema = json?.items ?? json;
  const name = typeof schema?.['$ref'] === 'string' ? schema['$ref'].slice(schema['$ref'].lastIndexOf('/') + 1) : '';
  return ((components[name] ?? schema)?.['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>;
}

/** Returns an error for each member of a parsed body that its shape lacks. */
export function undeclaredMembers(shape: Shape, value: unknown, pointer = '', errors: FieldError[] = []): readonly FieldError[] {
  if (Array.isArray(value)) {
    for (let n = 0; n < value.length && errors.length < maxNamed; n++) undeclaredMembers(shape, value[n], `${pointer}/${n}`, errors);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      if (errors.length >= maxNamed) break;
      const nested = shape.get(name);
      if (nested) undeclaredMembers(nested, member, `${pointer}/${name}`, errors);
      else if (!shape.has(name)) errors.push(undeclared(pointer, name, [...shape].flatMap(([one, content]) => (content === null ? [] : [one]))));
    }
  }
  return errors;
}

/** Returns the error for a member, field or part that does not exist. @param pointer of the object that has it */
export function undeclared(pointer: string, name: string, declared: readonly string[]): FieldError {
  if (name.length > maxNameLength) return { pointer, detail: `has a member that does not exist, with a name of ${name.length} characters` };
  return { pointer: `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, detail: `is not a member${suggestion(name, declared)}` };
}

/** Returns the end of a sentence about a name that is not declared: the name that was probably meant, or all of them. */
export function suggestion(name: string, declared: readonly string[]): string {
  const [nearest] = declared.map((one) => ({ one, unlike: distanceOf(plain(name), plain(one)) / Math.max(name.length, one.length) })).sort((a, b) => a.unlike - b.unlike);
  if (nearest && nearest.unlike <= 0.5) return `; did you mean \`${nearest.one}\`?`;
  return declared.length === 0 ? '' : `; there are ${declared.map((one) => `\`${one}\``).join(', ')}`;
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Levenshtein's distance; for an abbreviation (`qty`, `quantity`) 1. */
function distanceOf(name: string, declared: string): number {
  if (isAbbreviation(name, declared)) return name === declared ? 0 : 1;
  let previous = Array.from({ length: declared.length + 1 }, (_, n) => n);
  for (let i = 1; i <= name.length; i++) {
    const current = [i];
    for (let j = 1; j <= declared.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + Number(name[i - 1] !== declared[j - 1]);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[declared.length] ?? 0;
}

/** Whether a name has letters of another in the same order, beginning with the first. */
function isAbbreviation(name: string, long: string): boolean {
  if (name.length < 2 || !long.startsWith(name.slice(0, 1))) return false;
  let at = 0;
  for (const letter of long) if (letter === name[at]) at++;
  return at === name.length;
}
