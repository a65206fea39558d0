import type { HeadersOptions, ParamsOption, RequestBodyOption } from 'openapi-fetch';
import type { ParseAs } from './answers.js';
import type { paths } from './generated/api.js';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
/** Paths with the method. */
export type PathsWith<M extends Method> = { [Path in keyof paths]: paths[Path] extends Record<M, { responses: unknown }> ? Path : never }[keyof paths];
export type Operation<M extends Method, Path extends PathsWith<M>> = paths[Path] extends Record<M, infer Found> ? Found : never;

export interface CallOptions {
  /** Aborts the call, which rejects with the signal's reason. It may have taken effect. */
  readonly signal?: AbortSignal;
  /** How long the call may take, including repetitions, in milliseconds. Default: `deadlineMs` of the shop. */
  readonly deadlineMs?: number;
  /** How often the call is repeated at most, where that is safe; 0 sends it once. Default: `retries` of the shop. */
  readonly retries?: number;
  /** Identifies the call, so that a later run of the program can repeat it safely. Default: a new key for each call. */
  readonly idempotencyKey?: string;
  /** How to read an answer that is not JSON. Default: as a stream. */
  readonly parseAs?: ParseAs;
  readonly headers?: HeadersOptions;
}

type Init<Found> = ParamsOption<Found> & RequestBodyOption<Found> & CallOptions;
export type RequiredKeys<T> = { [Key in keyof T]-?: object extends Pick<T, Key> ? never : Key }[keyof T];
type Args<Found> = RequiredKeys<Init<Found>> extends never ? [init?: Init<Found>] : [init: Init<Found>];

interface Parsed {
  readonly text: string;
  readonly blob: Blob;
  readonly arrayBuffer: ArrayBuffer;
  readonly stream: ReadableStream<Uint8Array> | null;
}
type JsonOf<Found> = Found extends { responses: { 200: { content: { 'application/json': infer Body } } } } ? Body : Parsed['stream'];
export type DataOf<Found, As> = As extends keyof Parsed ? Parsed[As] : JsonOf<Found>;
type AsOf<Given> = Given extends readonly [{ readonly parseAs: infer As }] ? As : undefined;

/** A successful answer. `response` has the headers, such as `ETag`; its body has been read. */
export interface Success<Data> {
  readonly data: Data;
  readonly response: Response;
}

export type Caller<M extends Method> = <Path extends PathsWith<M>, Given extends Args<Operation<M, Path>>>(
  path: Path,
  ...init: Given
) => Promise<Success<DataOf<Operation<M, Path>, AsOf<Given>>>>;

/** The header names in the document, without the index signature for all others. */
type Named<Headers> = keyof { [Name in keyof Headers as string extends Name ? never : number extends Name ? never : Name]: true };
type HasLink<Found> = Found extends { responses: { 200: { headers: infer Headers; content: { 'application/json': readonly unknown[] } } } } ? ('Link' extends Named<Headers> ? true : false) : false;
/** Paths of paginated lists. */
export type ListPath = { [Path in PathsWith<'get'>]: HasLink<Operation<'get', Path>> extends true ? Path : never }[PathsWith<'get'>];
export type EntryOf<Path extends ListPath> = JsonOf<Operation<'get', Path>> extends readonly (infer Entry)[] ? Entry : never;
type ParametersOf<Path extends ListPath> = Operation<'get', Path> extends { parameters: infer Found } ? Found : never;
/** Query parameters of a list, without the cursor: pages are followed automatically. */
export type ListQuery<Path extends ListPath> = Omit<NonNullable<ParametersOf<Path> extends { query?: infer Query } ? Query : never>, 'cursor'>;
type PathOf<Path extends ListPath> = ParametersOf<Path> extends { path: infer Found } ? { readonly path: Found } : { readonly path?: never };
export type ListOptions<Path extends ListPath> = Pick<CallOptions, 'signal' | 'deadlineMs' | 'retries'> & PathOf<Path>;
export type ListArgs<Path extends ListPath> = RequiredKeys<ListQuery<Path>> extends never
  ? RequiredKeys<PathOf<Path>> extends never
    ? [query?: ListQuery<Path>, options?: ListOptions<Path>]
    : [query: ListQuery<Path> | undefined, options: ListOptions<Path>]
  : [query: ListQuery<Path>, options?: ListOptions<Path>];
