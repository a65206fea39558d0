import { createFinalURL, createQuerySerializer, defaultBodySerializer, defaultPathSerializer, mergeHeaders, type HeadersOptions } from 'openapi-fetch';
import type { Caller, CallOptions, EntryOf, ListArgs, ListPath, Success } from './call-types.js';
import { type Credential, type TokenSource, tokenSourceOf } from './credentials.js';
import { MissingCrypto } from './errors.js';
import { type EventsOptions, type EventType, openEvents, type ShopEvents } from './events.js';
import { formOperations, linesOperations, mergePatchOperations, multipartOperations, streamOperations, unprefixedPaths } from './generated/operations.js';
import type { Hooks } from './hooks.js';
import { type Methods, namedMethods } from './methods.js';
import { originOf } from './origin.js';
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
  /** How often a call is repeated at most, where that is safe. Default: until its deadline. */
  readonly retries?: number;
  readonly hooks?: Hooks;
  readonly fetch?: typeof globalThis.fetch;
  /** Default: the global class. Without one, `events` uses Server-Sent Events. */
  readonly WebSocket?: typeof globalThis.WebSocket | undefined;
}

/** A client of the shop. It keeps no connections open of its own. Each operation is also a method with a name: `orders.place`. */
export interface Shop extends Methods {
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
  const origin = originOf(options.url);
  const streamOrigin = originOf((options.streamUrl ?? options.url).replace(/^ws/, 'http'));
  // Browsers require `fetch` to be called on the global object.
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const credential = options.credential && tokenSourceOf(options.credential, origin, fetch);
  const transport = new Transport(fetch, credential, options.hooks);
  const deadlineMs = options.deadlineMs ?? defaultDeadlineMs;
  const send = (method: string, path: string, init?: AnyInit): Promise<Answer> => call({ transport, credential, origin, deadlineMs, retries: options.retries }, method, path, init);
  const list = (path: string, ...args: AnyListArgs): AsyncGenerator => pages((init) => send('GET', path, init) as Promise<Success<unknown[]>>, args);
  const caller = <M extends 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'>(method: M): Caller<Lowercase<M>> => ((path: string, init?: AnyInit) => send(method, path, init)) as Caller<Lowercase<M>>;
  return {
    GET: caller('GET'),
    POST: caller('POST'),
    PUT: caller('PUT'),
    PATCH: caller('PATCH'),
    DELETE: caller('DELETE'),
    ...namedMethods(send, list),
    list: list as Shop['list'],
    events: (given = {}) => openEvents({ transport, credential, origin: streamOrigin, fetch, deadlineMs, WebSocket: 'WebSocket' in options ? options.WebSocket : globalThis.WebSocket }, given),
  };
}

interface Need {
  readonly transport: Transport;
  readonly credential: TokenSource | undefined;
  readonly origin: string;
  readonly deadlineMs: number;
  readonly retries: number | undefined;
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
    baseUrl: unprefixedPaths.includes(path) ? need.origin : `${need.origin}/v3`,
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
    parseAs: init.parseAs ?? (streamOperations.includes(name) ? 'stream' : 'json'),
    effect: isRead(name) ? 'none' : isKeyed ? 'once' : 'each',
    deadlineMs: init.deadlineMs ?? need.deadlineMs,
    retries: init.retries ?? need.retries,
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

type AnyListArgs = [query?: Record<string, unknown>, options?: Pick<CallOptions, 'signal' | 'deadlineMs'> & { readonly path?: Record<string, unknown> }];

async function* pages(get: (init: AnyInit) => Promise<Success<unknown[]>>, [query = {}, { path: pathParams, ...options } = {}]: AnyListArgs): AsyncGenerator {
  for (let cursor: string | undefined; ; ) {
    const params = { query: { ...query, ...(cursor !== undefined && { cursor }) }, ...(pathParams && { path: pathParams }) };
    const { data, response } = await get({ ...options, params });
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
