import type { ParseAs } from './answers.js';
import type { CallOptions, DataOf, EntryOf, ListOptions, ListPath, ListQuery, Method, Operation, PathsWith, RequiredKeys, Success } from './call-types.js';
import { methods } from './generated/methods.js';

/** An operation as a method: the ids in its path, then its body or query, then options. */
type NamedMethod<Entry> = Entry extends `${infer Verb} ${infer Path} ${infer Takes}`
  ? Takes extends 'list'
    ? Path extends ListPath ? NamedList<Path> : never
    : Lowercase<Verb> extends infer M extends Method
      ? Path extends PathsWith<M> ? NamedCall<Operation<M, Path>, Path, Takes> : never
      : never
  : never;

type NamedCall<Found, Path extends string, Takes> = <As extends ParseAs | undefined = undefined>(
  ...args: [...Ids<Found, Path>, ...Input<Found, Takes>, options?: CallOptions & { readonly parseAs?: As }]
) => Promise<Success<DataOf<Found, As>>>;

/** Iterates over all entries, page by page. */
type NamedList<Path extends ListPath> = (
  ...args: [...Ids<Operation<'get', Path>, Path>, ...(RequiredKeys<ListQuery<Path>> extends never ? [query?: ListQuery<Path>] : [query: ListQuery<Path>]), options?: Omit<ListOptions<Path>, 'path'>]
) => AsyncGenerator<EntryOf<Path>, void, undefined>;

type ParameterOf<Found, Name> = Found extends { parameters: { path: infer Given } } ? Given[Name & keyof Given] : never;
type Ids<Found, Path extends string> = Path extends `${string}{${infer Outer}}${string}{${infer Inner}}${string}`
  ? [id: ParameterOf<Found, Outer>, innerId: ParameterOf<Found, Inner>]
  : Path extends `${string}{${infer Only}}${string}` ? [id: ParameterOf<Found, Only>] : [];

type Body<Found> = Found extends { requestBody: { content: infer Content } } ? Content[keyof Content] : Found extends { requestBody?: { content: infer Content } } ? Content[keyof Content] | undefined : never;
type Query<Found> = Found extends { parameters: { query: infer Given } } ? Given : Found extends { parameters: { query?: infer Given } } ? Given | undefined : never;
type Input<Found, Takes> = Takes extends 'body'
  ? undefined extends Body<Found> ? [body?: Body<Found>] : [body: Body<Found>]
  : Takes extends 'query'
    ? undefined extends Query<Found> ? [query?: Query<Found>] : [query: Query<Found>]
    : [];

type NamedMethods<Group> = { readonly [Name in keyof Group]: NamedMethod<Group[Name]> };
/** Every operation as a method: `orders.place(body, options)`. */
export type Methods = { readonly [Group in keyof typeof methods]: NamedMethods<(typeof methods)[Group]> };

type Named = (...args: unknown[]) => unknown;
type Send = (method: string, path: string, init: object) => unknown;
type List = (path: string, query: Record<string, unknown> | undefined, options: { readonly path: Record<string, unknown> }) => unknown;

export function namedMethods(send: Send, list: List): Methods {
  const named = (entry: string): Named => {
    const [method = '', path = '', takes] = entry.split(' ');
    const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name);
    return (...args) => {
      const ids = Object.fromEntries(names.map((name, index) => [name, args[index]]));
      const rest = args.slice(names.length);
      const input = takes === 'nothing' ? undefined : (rest.shift() as Record<string, unknown> | undefined);
      const options = rest[0] as object | undefined;
      if (takes === 'list') return list(path, input, { ...options, path: ids });
      return send(method, path, { ...options, params: { path: ids, ...(takes === 'query' && { query: input }) }, ...(takes === 'body' && { body: input }) });
    };
  };
  const group = (entries: Readonly<Record<string, string>>): Record<string, Named> => Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, named(entry)]));
  return Object.fromEntries(Object.entries(methods).map(([name, entries]) => [name, group(entries)])) as unknown as Methods;
}
