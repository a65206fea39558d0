import { createFinalURL, createQuerySerializer, defaultBodySerializer, defaultPathSerializer, mergeHeaders, type HeadersOptions, type ParamsOption, type RequestBodyOption } from 'openapi-fetch';
import type { ParseAs } from './answers.js';
import { type Credential, type TokenSource, tokenSourceOf } from './credentials.js';
import { InvalidUrl, MissingCrypto } from './errors.js';
import { type EventsOptions, type EventType, openEvents, type ShopEvents } from './events.js';
import type { paths } from './generated/api.js';
import { formOperations, linesOperations, mergePatchOperations, multipartOperations } from './generated/operations.js';
import { isRead, takesKey } from './repeat.js';
import { type Answer, Transport } from './transport.js';

export interface ShopOptions {
  /** Address of the API: `https://shop.example`. */
  readonly url: string;
  /** Address of the event stream, for `events`. Default: `url`. */
  readonly streamUrl?: string;
  /** Without one, only public operations are possible. */
  readonly credential?: Credential;
  /** How long a call may take, including repetitions, in milliseconds. Default: 30,000. */
  readonly deadlineMs?: number;
  readonly fetch?: typeof globalThis.fetch;
  /** Default: the global class. Without one, `events` uses Server-Sent Events. */
  readonly WebSocket?: typeof globalThis.WebSocket | undefined;
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
/** Paths with the method. */
export type PathsWith<M extends Method> = { [Path in keyof paths]: paths[Path] extends Record<M, { responses: unknown }> ? Path : never }[keyof paths];
type Operation<M extends Method, Path extends PathsWith<M>> = paths[Path] extends Record<M, infer Found> ? Found : never;

export interface CallOptions {
  /** Aborts the call, which rejects with the signal's reason. It may have taken effect. */
  readonly signal?: AbortSignal;
  /** How long the call may take, including repetitions, in milliseconds. Default: `deadlineMs` of the shop. */
  readonly deadlineMs?: number;
  /** Identifies the call, so that a later run of the program can repeat it safely. Default: a new key for each call. */
  readonly idempotencyKey?: string;
  /** How to read an answer that is not JSON. */
  readonly parseAs?: ParseAs;
  readonly headers?: HeadersOptions;
}

type Init<Found> = ParamsOption<Found> & RequestBodyOption<Found> & CallOptions;
type RequiredKeys<T> = { [Key in keyof T]-?: object extends Pick<T, Key> ? never : Key }[keyof T];
type Args<Found> = RequiredKeys<Init<Found>> extends never ? [init?: Init<Found>] : [init: Init<Found>];

interface Parsed {
  readonly text: string;
  readonly blob: Blob;
  readonly arrayBuffer: ArrayBuffer;
  readonly stream: ReadableStream<Uint8Array> | null;
}
type JsonOf<Found> = Found extends { responses: { 200: { content: { 'application/json': infer Body } } } } ? Body : undefined;
type DataOf<Found, Given> = Given extends readonly [{ readonly parseAs: infer As extends keyof Parsed }] ? Parsed[As] : JsonOf<Found>;

/** A successful answer. `response` has the headers, such as `ETag`; its body has been read. */
export interface Success<Data> {
  readonly data: Data;
  readonly response: Response;
}

type Caller<M extends Method> = <Path extends PathsWith<M>, Given extends Args<Operation<M, Path>>>(
  path: Path,
  ...init: Given
) => Promise<Success<DataOf<Operation<M, Path>, Given>>>;

/** The header names in the document, without the index signature for all others. */
type Named<Headers> = keyof { [Name in keyof Headers as string extends Name ? never : number extends Name ? never : Name]: true };
type HasLink<Found> = Found extends { responses: { 200: { headers: infer Headers; content: { 'application/json': readonly unknown[] } } } } ? ('Link' extends Named<Headers> ? true : false) : false;
/** Paths of paginated lists. */
export type ListPath = { [Path in PathsWith<'get'>]: HasLink<Operation<'get', Path>> extends true ? Path : never }[PathsWith<'get'>];
type EntryOf<Path extends ListPath> = JsonOf<Operation<'get', Path>> extends readonly (infer Entry)[] ? Entry : never;
type ParametersOf<Path extends ListPath> = Operation<'get', Path> extends { parameters: infer Found } ? Found : never;
/** Query parameters of a list, without the cursor: pages are followed automatically. */
export type ListQuery<Path extends ListPath> = Omit<NonNullable<ParametersOf<Path> extends { query?: infer Query } ? Query : never>, 'cursor'>;
type PathOf<Path extends ListPath> = ParametersOf<Path> extends { path: infer Found } ? { readonly path: Found } : { readonly path?: never };
export type ListOptions<Path extends ListPath> = Pick<CallOptions, 'signal' | 'deadlineMs'> & PathOf<Path>;
type ListArgs<Path extends ListPath> = RequiredKeys<ListQuery<Path>> extends never
  ? RequiredKeys<PathOf<Path>> extends never
    ? [query?: ListQuery<Path>, options?: ListOptions<Path>]
    : [query: ListQuery<Path> | undefined, options: ListOptions<Path>]
  : [query: ListQuery<Path>, options?: ListOptions<Path>];

/** A client of the shop. It keeps no connections open of its own. */
export interface Shop {
  readonly GET: Caller<'get'>;
  readonly POST: Caller<'post'>;
  readonly PUT: Caller<'put'>;
  readonly PATCH: Caller<'patch'>;
  readonly DELETE: Caller<'delete'>;
  /** Iterates over all entries of a list. Fetches the next page when the entries of the last one are used up. */
  list<Path extends ListPath>(path: Path, ...args: ListArgs<Path>): AsyncGenerator<EntryOf<Path>, void, undefined>;
  /** Iterates over order events from a cursor on, reconnecting as needed. */
  events<Type extends EventType = 'order.status_changed'>(options?: EventsOptions<Type>): ShopEvents<Type>;
}

const defaultDeadlineMs = 30_000;
/** Serialises lists of values as the document specifies. */
const querySerializer = createQuerySerializer({ array: { style: 'form', explode: false } });

/** @throws InvalidUrl */
export function createShop(options: ShopOptions): Shop {
  const origin = originOf(options.url, /^https?:$/);
  const streamOrigin = originOf((options.streamUrl ?? options.url).replace(/^ws/, 'http'), /^https?:$/);
  // Browsers require `fetch` to be called on the global object.
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const credential = options.credential && tokenSourceOf(options.credential, origin, fetch);
  const transport = new Transport(fetch, credential);
  const deadlineMs = options.deadlineMs ?? defaultDeadlineMs;
  const caller = <M extends Method>(method: M): Caller<M> =>
    ((path: string, init?: AnyInit) => call({ transport, credential, origin, deadlineMs }, method.toUpperCase(), path, init)) as Caller<M>;
  const GET = caller('get');
  return {
    GET,
    POST: caller('post'),
    PUT: caller('put'),
    PATCH: caller('patch'),
    DELETE: caller('delete'),
    list: (path, ...args) => pages(GET as unknown as PageReader, path, args as AnyListArgs) as never,
    events: (given = {}) => openEvents({ transport, credential, origin: streamOrigin, fetch, deadlineMs, WebSocket: 'WebSocket' in options ? options.WebSocket : globalThis.WebSocket }, given),
  };
}

/** Returns the origin of an address without a path; accepts `/v3` at its end. */
function originOf(text: string, protocols: RegExp): string {
  const trimmed = text.replace(/\/+$/, '').replace(/\/v3$/, '');
  const url = URL.canParse(trimmed) ? new URL(trimmed) : undefined;
  if (!url || !protocols.test(url.protocol) || url.pathname !== '/' || url.search !== '' || url.username !== '') throw new InvalidUrl(text);
  return url.origin;
}

interface Need {
  readonly transport: Transport;
  readonly credential: TokenSource | undefined;
  readonly origin: string;
  readonly deadlineMs: number;
}

interface AnyInit extends CallOptions {
  readonly params?: { readonly query?: Record<string, unknown>; readonly path?: Record<string, unknown>; readonly header?: HeadersOptions };
  readonly body?: unknown;
}

async function call(need: Need, method: string, path: string, init: AnyInit = {}): Promise<Answer> {
  const name = `${method} ${path}`;
  const { params = {}, body } = init;
  const headers = mergeHeaders({ accept: 'application/json, application/problem+json;q=0.9, */*;q=0.1' }, params.header, init.headers);
  // Keys belong to a user: without a credential the shop ignores them.
  const isKeyed = takesKey(name) && need.credential !== undefined;
  if (isKeyed && !headers.has('idempotency-key')) headers.set('idempotency-key', init.idempotencyKey ?? newKey());
  const bytes = body === undefined ? undefined : serialized(name, body, headers);
  const url = createFinalURL(path, {
    baseUrl: `${need.origin}/v3`,
    params: { ...(params.query && { query: params.query }), ...(params.path && { path: params.path }) },
    querySerializer,
    pathSerializer: defaultPathSerializer,
  });
  return need.transport.send({
    name,
    method,
    url,
    headers,
    ...(bytes !== undefined && { body: bytes }),
    parseAs: init.parseAs ?? 'json',
    effect: isRead(name) ? 'none' : isKeyed ? 'once' : 'each',
    deadlineMs: init.deadlineMs ?? need.deadlineMs,
    signal: init.signal,
  });
}

function serialized(operation: string, body: unknown, headers: Headers): string | FormData {
  if (multipartOperations.includes(operation)) {
    if (body instanceof FormData) return body;
    const form = new FormData();
    for (const [field, value] of Object.entries(body as Record<string, string | Blob>)) form.append(field, value);
    return form;
  }
  if (formOperations.includes(operation)) {
    headers.set('content-type', 'application/x-www-form-urlencoded');
    return new URLSearchParams(body as Record<string, string>).toString();
  }
  if (linesOperations.includes(operation)) {
    headers.set('content-type', 'application/x-ndjson');
    return body as string;
  }
  headers.set('content-type', mergePatchOperations.includes(operation) ? 'application/merge-patch+json' : 'application/json');
  return defaultBodySerializer(body);
}

/** 128 random bits. Not `randomUUID`, which browsers only offer to https pages. */
function newKey(): string {
  const { crypto } = globalThis as { readonly crypto?: Crypto };
  if (!crypto) throw new MissingCrypto();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

type PageReader = (path: string, init: AnyInit) => Promise<Success<unknown[]>>;
type AnyListArgs = [query?: Record<string, unknown>, options?: Pick<CallOptions, 'signal' | 'deadlineMs'> & { readonly path?: Record<string, unknown> }];

async function* pages(get: PageReader, path: string, [query = {}, { path: pathParams, ...options } = {}]: AnyListArgs): AsyncGenerator {
  for (let cursor: string | undefined; ; ) {
    const params = { query: { ...query, ...(cursor !== undefined && { cursor }) }, ...(pathParams && { path: pathParams }) };
    const { data, response } = await get(path, { ...options, params });
    yield* data;
    cursor = cursorOf(response.headers.get('link'));
    if (cursor === undefined) return;
  }
}

/** Returns the cursor of the next page. The rest of the link is ignored, so that no answer can send the credential elsewhere. */
function cursorOf(link: string | null): string | undefined {
  const [, address] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(link ?? '') ?? [];
  return address === undefined ? undefined : (new URL(address, 'http://shop').searchParams.get('cursor') ?? undefined);
}
