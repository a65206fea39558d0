import { isAborted, Limit, nothing, sleep, waitFor } from './abort.js';
import { lost, problemOf } from './answers.js';
import type { TokenSource } from './credentials.js';
import { NotTheShop, ShopError, ShopProblem, StreamNotFound } from './errors.js';
import { readEventSource } from './event-source.js';
import type { OrderEvent, StreamGap } from './generated/events.js';
import { Inbox } from './inbox.js';
import { closedFor, type Ending, isFinal, reconnectMs } from './reconnect.js';
import type { Transport } from './transport.js';
import { readWebSocket, type Receiver } from './websocket.js';

export type EventType = OrderEvent['event'];
/** The type that is delivered by default. */
type DefaultType = 'order.status_changed';
/** A message of the stream: an event of a requested type, or a gap where events are missing. */
export type StreamMessage<Type extends EventType = DefaultType> = Streamed<Extract<OrderEvent, { readonly event: Type }>> | StreamGap;
/** Server-Sent Events have a cursor but no id. */
type Streamed<Event> = Event extends OrderEvent ? Omit<Event, 'id'> & { readonly id?: Event['id'] } : never;
type Status = Extract<OrderEvent, { readonly data: { readonly newStatus: string } }>['data']['newStatus'];

export interface EventsOptions<Type extends EventType = DefaultType> {
  /** `latest` (the default), `earliest`, or the cursor to resume from. */
  readonly cursor?: string;
  /** Event types to receive. Default: only `order.status_changed`. */
  readonly types?: readonly Type[];
  readonly orderId?: number | readonly number[];
  readonly plantId?: number | readonly number[];
  readonly newStatus?: Status | readonly Status[];
  /** Ends the stream: the loop throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Number of events buffered for a consumer that is slower than the stream. Default: 1,000. */
  readonly bufferSize?: number;
  /** Milliseconds after which a silent WebSocket is checked, since a dead one looks like a quiet one. Default: 30,000. */
  readonly silenceMs?: number;
  /**
   * Called with the new `cursor` of the loop when the stream has passed events that do not match, and the consumer waits. Store it like an
   * event's: the shop answers a cursor older than its log with a gap.
   */
  readonly onCursor?: (cursor: string) => void;
  /** Called whenever a connection opens or ends; for logs. */
  readonly onState?: (state: StreamState) => void;
}

export type StreamState =
  | { readonly state: 'connected'; readonly by: 'websocket' | 'server-sent-events' }
  | { readonly state: 'disconnected'; readonly why: string; readonly code: number; readonly againInMs: number };

/** A loop over events. `break` closes it. */
export interface ShopEvents<Type extends EventType = DefaultType> extends AsyncIterableIterator<StreamMessage<Type>, undefined, undefined> {
  /**
   * The cursor from which a later run resumes: after the last event that the consumer has handled. An event counts as handled when the
   * next one is requested, so an event whose handling was interrupted is delivered again. Advances past events that do not match, too.
   */
  readonly cursor: string;
  /** Resolves when the stream has opened: every event from then on is delivered. */
  opened(): Promise<void>;
  close(): Promise<void>;
  return(): Promise<IteratorReturnResult<undefined>>;
}

export interface StreamNeed {
  readonly transport: Transport;
  readonly credential: TokenSource | undefined;
  readonly origin: string;
  readonly fetch: typeof globalThis.fetch;
  readonly deadlineMs: number;
  readonly WebSocket: typeof globalThis.WebSocket | undefined;
}

export const openEvents = <Type extends EventType = DefaultType>(need: StreamNeed, options: EventsOptions<Type>): ShopEvents<Type> => new EventLoop(need, options);

const path = '/v1/orders/updates';
const defaultBuffer = 1_000;
const defaultSilenceMs = 30_000;
/** Time limit of the request that checks a silent WebSocket. */
const probeLimitMs = 10_000;
/** How long an event that a page contains may still be in transit by WebSocket. */
const graceMs = 5_000;
/** Failed attempts to open a WebSocket after which a proxy is assumed to block it, if pages can be read. */
const failedUpgrades = 2;

class EventLoop<Type extends EventType> implements ShopEvents<Type> {
  /** After the last event that the consumer has handled. */
  cursor: string;
  /** After the last event that was received. */
  private received: string;
  /** The cursor of the event that the consumer is handling. */
  private given: string | undefined;
  private readonly inbox: Inbox<StreamMessage<Type>>;
  private readonly limit: Limit;
  private running: Promise<void> | undefined;
  private wasOpened: { readonly promise: Promise<void>; readonly resolve: () => void; readonly reject: (error: unknown) => void };
  private failures = 0;
  private upgradesFailed = 0;
  private wasRenewed = false;
  /** The token of the current connection by Server-Sent Events. */
  private sentToken: string | undefined;
  private refusedToken: string | undefined;

  constructor(
    private readonly need: StreamNeed,
    private readonly options: EventsOptions<Type>,
  ) {
    this.cursor = this.received = options.cursor ?? 'latest';
    this.inbox = new Inbox(Math.max(options.bufferSize ?? defaultBuffer, 1));
    this.limit = new Limit(options.signal);
    this.wasOpened = withResolvers();
    // Without a call of `opened`, its rejection must not count as unhandled: the loop throws the same error.
    this.wasOpened.promise.catch(nothing);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<StreamMessage<Type>, undefined>> {
    this.cursor = this.given ?? this.cursor;
    this.start();
    const message = await this.inbox.take();
    if (message === undefined) return { done: true, value: undefined };
    this.given = message.cursor;
    return { done: false, value: message };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    await this.close();
    return { done: true, value: undefined };
  }

  async close(): Promise<void> {
    this.inbox.close({}, { isDiscarded: true });
    this.limit.abort(new Error('closed'));
    this.limit.close();
    await this.running;
  }

  async opened(): Promise<void> {
    this.start();
    await this.wasOpened.promise;
  }

  private start(): void {
    this.running ??= this.run().then(
      () => this.over({}),
      (error: unknown) => this.over({ error: this.options.signal?.aborted === true ? this.options.signal.reason : error }),
    );
  }

  private over(end: { readonly error?: unknown }): void {
    this.inbox.close(end, { isDiscarded: this.options.signal?.aborted === true });
    this.wasOpened.reject(end.error ?? new Error('The stream was closed.'));
    this.limit.close();
  }

  /** Connects and reconnects until the stream is closed or permanently refused. */
  private async run(): Promise<void> {
    const { signal } = this.limit;
    while (!signal.aborted) {
      await this.inbox.room();
      const ending = await this.connect().catch((error: unknown) => this.endingOf(error));
      if (isAborted(signal)) break;
      if (isFinal(ending.code) && !(await this.mayRenew(ending.code === 4001))) throw closedFor(ending.code);
      if (ending.wasOpen) this.failures = 0;
      const againInMs = reconnectMs(ending, this.failures, Math.random());
      if (!ending.wasOpen) this.failures += 1;
      this.options.onState?.({ state: 'disconnected', why: ending.reason, code: ending.code, againInMs });
      if (againInMs > 0) await sleep(againInMs, signal).catch(nothing);
    }
    this.options.signal?.throwIfAborted();
  }

  private async connect(): Promise<Ending> {
    // Replaces `latest` by the current cursor, so that nothing is missed if the connection ends before its first event.
    if (this.received === 'latest') {
      this.received = (await this.page('latest')).cursor;
      if (this.cursor === 'latest') this.cursor = this.received;
    }
    const { WebSocket: WebSocketClass, credential } = this.need;
    // A WebSocket cannot send headers, and proxies would log a token in the address: only API keys are sent this way.
    const canUpgrade = WebSocketClass !== undefined && credential?.apiKey !== undefined && this.upgradesFailed < failedUpgrades;
    return canUpgrade ? this.byWebSocket(WebSocketClass, credential.apiKey) : this.byEventSource();
  }

  private async byWebSocket(WebSocketClass: typeof globalThis.WebSocket, apiKey: string): Promise<Ending> {
    const url = this.address(this.received);
    url.protocol = url.protocol.replace('http', 'ws');
    url.searchParams.set('api_key', apiKey);
    const { silenceMs = defaultSilenceMs } = this.options;
    const ending = await readWebSocket(WebSocketClass, url, { signal: this.limit.signal, silenceMs, isAlive: () => this.isAlive() }, this.receiver('websocket'));
    if (ending.wasOpen || this.limit.signal.aborted) return ending;
    // Only an HTTP request gets the reason of the refusal.
    await this.page(this.received);
    this.upgradesFailed += 1;
    return ending;
  }

  private async byEventSource(): Promise<Ending> {
    const { fetch, credential } = this.need;
    const url = this.address(this.received);
    const opening = new Limit(this.limit.signal, this.need.deadlineMs);
    const body = new Limit(this.limit.signal);
    try {
      const headers = new Headers({ accept: 'text/event-stream' });
      const token = await credential?.token(opening.signal);
      if (token !== undefined) credential?.show(token, headers);
      const asked = fetch(url, { headers, signal: body.signal, redirect: 'manual' }).catch((cause: unknown) => {
        throw lost(url.origin, cause);
      });
      const response = await waitFor(asked, opening.signal);
      const isStream = response.ok && /^text\/event-stream/i.test(response.headers.get('content-type') ?? '');
      if (!isStream) {
        if (response.status === 401 && token !== undefined) this.refusedToken = token;
        throw await problemOf(response, `${url.origin}${path}`);
      }
      this.sentToken = token;
      return await readEventSource(response, this.limit.signal, () => this.inbox.room(), this.receiver('server-sent-events'));
    } finally {
      body.abort(new Error('over'));
      body.close();
      opening.close();
    }
  }

  private receiver(by: 'websocket' | 'server-sent-events'): Receiver {
    return {
      onOpen: () => {
        this.options.onState?.({ state: 'connected', by });
        this.wasOpened.resolve();
      },
      onText: (text, cursor) => {
        const message = { ...(cursor !== undefined && { cursor }), ...(JSON.parse(text) as object) } as StreamMessage<Type>;
        this.received = message.cursor;
        this.wasRenewed = false;
        this.inbox.put(message);
        return !this.inbox.isFull;
      },
      onCursor: (cursor) => this.advance(cursor),
    };
  }

  /** Takes a cursor up to which nothing is missing. */
  private advance(cursor: string): void {
    this.received = cursor;
    if (!this.inbox.isAwaited || cursor === this.cursor) return;
    this.cursor = this.given = cursor;
    this.options.onCursor?.(cursor);
  }

  /** Whether a silent connection has missed no event. Scripts do not see the cursor in a WebSocket's pings, so takes the page's. */
  private async isAlive(): Promise<boolean> {
    const asked = this.received;
    try {
      const { events, cursor } = await this.page(asked, probeLimitMs);
      if (events.length === 0 && this.received === asked) this.advance(cursor);
      if (events.length > 0 && this.received === asked) await sleep(graceMs, this.limit.signal);
      return events.length === 0 || this.received !== asked;
    } catch {
      return false;
    }
  }

  /** Reads a page of events by plain HTTP. */
  private async page(cursor: string, deadlineMs = this.need.deadlineMs): Promise<{ readonly events: readonly unknown[]; readonly cursor: string }> {
    const url = this.address(cursor);
    url.searchParams.set('limit', '1');
    const headers = new Headers({ accept: 'application/json' });
    const call = { name: `GET ${path}`, method: 'GET', url: url.href, headers, parseAs: 'json', effect: 'none', deadlineMs, signal: this.limit.signal } as const;
    return (await this.need.transport.send(call)).data as { events: unknown[]; cursor: string };
  }

  private address(cursor: string): URL {
    const { types, orderId, plantId, newStatus } = this.options;
    const url = new URL(path, this.need.origin);
    url.searchParams.set('cursor', cursor);
    for (const [name, value] of Object.entries({ types, orderId, plantId, newStatus })) {
      if (value !== undefined) url.searchParams.set(name, [value].flat().join(','));
    }
    return url;
  }

  /** Turns a temporary failure into an ending to reconnect after. @throws permanent failures */
  private async endingOf(error: unknown): Promise<Ending> {
    if (this.limit.signal.aborted) return { code: 1000, reason: 'closed by this side', wasOpen: false };
    if (!(error instanceof ShopError)) throw error;
    if (error instanceof ShopProblem && error.status === 401 && (await this.mayRenew(true))) return { code: 4201, reason: error.message, wasOpen: false };
    if ((error instanceof ShopProblem || error instanceof NotTheShop) && error.status === 404) throw new StreamNotFound(this.need.origin, error);
    if (error.outcome === 'refused') throw error;
    return { code: 1006, reason: error.message, retryAfterMs: error.retryAfterMs, wasOpen: false };
  }

  /** Whether to retry once with a new token. */
  private async mayRenew(isInvalid: boolean): Promise<boolean> {
    const token = this.refusedToken ?? this.sentToken;
    if (!isInvalid || this.wasRenewed || token === undefined) return false;
    this.wasRenewed = true;
    this.refusedToken = this.sentToken = undefined;
    return this.need.credential?.refused(token) ?? false;
  }
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void; readonly reject: (error: unknown) => void } {
  let resolve: () => void = nothing;
  let reject: (error: unknown) => void = nothing;
  const promise = new Promise<void>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}
