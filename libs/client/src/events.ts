import { isAborted, Limit, nothing, sleep, waitFor } from './abort.js';
import { lost, problemOf } from './answers.js';
import type { TokenSource } from './credentials.js';
import { ShopError, ShopProblem } from './errors.js';
import { readEventSource } from './event-source.js';
import type { OrderEvent, StreamGap } from './generated/events.js';
import { Inbox } from './inbox.js';
import { closedFor, type Ending, isFinal, reconnectMs } from './reconnect.js';
import type { Transport } from './transport.js';
import { readWebSocket, type Receiver } from './websocket.js';

export type EventType = OrderEvent['event'];
/** What comes when no types are named. */
type DefaultType = 'order.status_changed';
/** What the stream delivers: events of the types that were asked for, and gaps where events are missing. */
export type StreamMessage<Type extends EventType = DefaultType> = Streamed<Extract<OrderEvent, { readonly event: Type }>> | StreamGap;
/** Server-Sent Events have a cursor and no id. */
type Streamed<Event> = Event extends OrderEvent ? Omit<Event, 'id'> & { readonly id?: Event['id'] } : never;
type Status = Extract<OrderEvent, { readonly data: { readonly newStatus: string } }>['data']['newStatus'];

export interface EventsOptions<Type extends EventType = DefaultType> {
  /** `latest` (the default), `earliest`, or the cursor to resume from. */
  readonly cursor?: string;
  /** Which types of events. Default: `order.status_changed` alone. */
  readonly types?: readonly Type[];
  readonly orderId?: number | readonly number[];
  readonly plantId?: number | readonly number[];
  readonly newStatus?: Status | readonly Status[];
  /** Ends the stream: the loop throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Events that are held for a consumer that is slower than the stream. Default: 1,000. */
  readonly bufferSize?: number;
  /** A WebSocket without a message for so long is checked: a dead one looks just like a quiet one. Default: 30,000. */
  readonly silenceMs?: number;
  /** Told whenever a connection opens or ends; for logs. */
  readonly onState?: (state: StreamState) => void;
}

export type StreamState =
  | { readonly state: 'connected'; readonly by: 'websocket' | 'server-sent-events' }
  | { readonly state: 'disconnected'; readonly why: string; readonly code: number; readonly againInMs: number };

/** A loop over events. `break` closes it. */
export interface ShopEvents<Type extends EventType = DefaultType> extends AsyncIterableIterator<StreamMessage<Type>, undefined, undefined> {
  /**
   * Where a later program run resumes: after the last event that the consumer has taken. An event counts as taken when the next one is
   * asked for, so an event whose handling was interrupted comes again.
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
/** For the answer to a question that is asked beside a WebSocket. */
const probeLimitMs = 10_000;
/** An event that a page has may still be on its way by WebSocket for so long. */
const graceMs = 5_000;
/** So often a WebSocket may fail to open where pages can be read. Then a proxy does not let it through. */
const failedUpgrades = 2;

class EventLoop<Type extends EventType> implements ShopEvents<Type> {
  /** After the last event that the consumer has taken. */
  cursor: string;
  /** After the last event that was received. */
  private received: string;
  /** The cursor of the event that the consumer is working on. */
  private given: string | undefined;
  private readonly inbox: Inbox<StreamMessage<Type>>;
  private readonly limit: Limit;
  private running: Promise<void> | undefined;
  private wasOpened: { readonly promise: Promise<void>; readonly resolve: () => void; readonly reject: (error: unknown) => void };
  private failures = 0;
  private upgradesFailed = 0;
  private wasRenewed = false;
  /** What the present connection by Server-Sent Events was opened with. */
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
    // Whoever does not wait for it need not hear that it failed: the loop throws the same.
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

  /** Connects, and connects again, until it is closed or refused for good. */
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
    // It becomes the cursor of this very moment, so that nothing is missed should the connection end before its first event.
    if (this.received === 'latest') {
      this.received = (await this.page('latest')).cursor;
      if (this.cursor === 'latest') this.cursor = this.received;
    }
    const { WebSocket: WebSocketClass, credential } = this.need;
    // A WebSocket cannot send headers, and a token in an address would be seen by proxies: it takes an API key alone.
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
    // Why it was refused is only said to those that ask by HTTP.
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
    };
  }

  /** Whether a connection that says nothing has missed nothing. */
  private async isAlive(): Promise<boolean> {
    const asked = this.received;
    try {
      const { events } = await this.page(asked, probeLimitMs);
      if (events.length > 0 && this.received === asked) await sleep(graceMs, this.limit.signal);
      return events.length === 0 || this.received !== asked;
    } catch {
      return false;
    }
  }

  /** One page of events, by plain HTTP. */
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

  /** What passes is waited for. @throws what does not */
  private async endingOf(error: unknown): Promise<Ending> {
    if (this.limit.signal.aborted) return { code: 1000, reason: 'closed by this side', wasOpen: false };
    if (!(error instanceof ShopError)) throw error;
    if (error instanceof ShopProblem && error.status === 401 && (await this.mayRenew(true))) return { code: 4201, reason: error.message, wasOpen: false };
    if (error.outcome === 'refused') throw error;
    return { code: 1006, reason: error.message, retryAfterMs: error.retryAfterMs, wasOpen: false };
  }

  /** Whether to try once more with a new token. */
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
