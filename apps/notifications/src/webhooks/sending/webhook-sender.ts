import type { IncomingHttpHeaders } from 'node:http';
import { Agent, type Dispatcher, errors } from 'undici';
import { type TargetGuard, TargetRefused } from '../endpoints/target-guard.js';
import { guardedConnector } from './connector.js';
import { retryAfterMs } from './schedule.js';

export interface WebhookSenderOptions {
  /** For all of an attempt: DNS, connection, TLS, headers and body. */
  readonly attemptLimitMs: number;
  /** Of those, for the body of the answer. */
  readonly bodyLimitMs: number;
  readonly maxConnectionsPerOrigin: number;
  /** Certificate authorities beside the system's. */
  readonly ca?: string;
}

/** One POST and what came of it. */
export interface SendResult {
  readonly at: Date;
  readonly durationMs: number;
  /** Undefined: no answer. */
  readonly status?: number;
  /** For people, undefined for a success. Nothing of what the receiver said. */
  readonly error?: string;
  readonly retryAfterMs?: number;
  /** The body of the answer had not ended when its time was up. */
  readonly isUnfinished?: true;
}

export interface Post {
  readonly url: URL;
  /** When this attempt begins, by a clock that receivers may hold their own against. */
  readonly at: Date;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The answer is of no use to us, but read to its end the connection can be used again. */
const maxAnswerBytes = 64 * 1024;
const userAgent = 'plant-shop-webhooks/1';

const timedOut = new Error('time limit');
const cut = new Error('answer too long');

/** Sends by undici's dispatcher: `fetch` costs ten times as much, and follows proxies of the environment. */
export class WebhookSender {
  private readonly agent: Agent;

  constructor(
    private readonly guard: TargetGuard,
    private readonly options: WebhookSenderOptions,
  ) {
    this.agent = new Agent({
      connect: guardedConnector(guard, { limitMs: options.attemptLimitMs, ...(options.ca !== undefined && { ca: options.ca }) }),
      connections: options.maxConnectionsPerOrigin,
      pipelining: 1,
      keepAliveTimeout: 4_000,
      keepAliveMaxTimeout: 30_000,
      // One limit for all of it is ours.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  send(post: Post): Promise<SendResult> {
    // Whatever was allowed when the URL was given, and whatever connection there is.
    const fault = this.guard.faultOf(post.url.href);
    if (fault !== undefined) return Promise.resolve({ at: post.at, durationMs: 0, error: `The URL ${fault}.` });
    return new Promise((resolve) => new Attempt(post, this.agent, this.options, resolve).begin());
  }

  /** Cuts off what is under way. */
  close(): Promise<void> {
    return this.agent.destroy();
  }
}

/** Settles once: with the answer, an error, or the end of its time, whichever comes first. */
class Attempt implements Dispatcher.DispatchHandler {
  private readonly startedAt = performance.now();
  private readonly limitMs: number;
  private readonly bodyLimitMs: number;
  private timer: NodeJS.Timeout | undefined;
  private controller: Dispatcher.DispatchController | undefined;
  private isSettled = false;
  private status: number | undefined;
  private retryAfterMs: number | undefined;
  private bytes = 0;

  constructor(
    private readonly post: Post,
    private readonly agent: Agent,
    { attemptLimitMs, bodyLimitMs }: WebhookSenderOptions,
    private readonly done: (sent: SendResult) => void,
  ) {
    this.limitMs = attemptLimitMs;
    this.bodyLimitMs = bodyLimitMs;
  }

  begin(): void {
    const { url, headers, body } = this.post;
    this.timer = setTimeout(() => this.stop(timedOut), this.limitMs);
    const options = {
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'user-agent': userAgent },
      body,
    } as const;
    try {
      this.agent.dispatch(options, this);
    } catch (error) {
      // What undici finds wrong with a request before it is one.
      this.settle(error as Error);
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // It waited for a connection until its time was up: nothing of it is written.
    if (this.isSettled) controller.abort(timedOut);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.status = status;
    this.retryAfterMs = retryAfterMs(headers['retry-after'], new Date(this.post.at.getTime() + performance.now() - this.startedAt));
    // The status decides. The body is read for the connection's sake alone: a receiver that drips it must not keep the place.
    const leftMs = this.limitMs - (performance.now() - this.startedAt);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.stop(timedOut), Math.max(0, Math.min(this.bodyLimitMs, leftMs)));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.bytes > maxAnswerBytes) this.stop(cut);
  }

  onResponseEnd(): void {
    this.settle();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.settle(error);
  }

  private stop(reason: Error): void {
    this.settle(reason);
    this.controller?.abort(reason);
  }

  private settle(error?: Error): void {
    if (this.isSettled) return;
    this.isSettled = true;
    clearTimeout(this.timer);
    const { status } = this;
    // What comes after the status changes nothing: it was said that the event has arrived, or that it has not.
    const text = status === undefined ? textOf(error, this.limitMs) : statusText(status);
    this.done({
      at: this.post.at,
      durationMs: Math.round(performance.now() - this.startedAt),
      ...(status !== undefined && { status }),
      ...(text !== undefined && { error: text }),
      ...(this.retryAfterMs !== undefined && { retryAfterMs: this.retryAfterMs }),
      ...(status !== undefined && error === timedOut && { isUnfinished: true }),
    });
  }
}

function statusText(status: number): string | undefined {
  if (status < 300) return undefined;
  if (status < 400) return `The receiver answered ${status}: redirects are not followed.`;
  return `The receiver answered ${status}.`;
}

const texts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: 'The receiver closed the connection.',
  EPIPE: 'The receiver closed the connection.',
  UND_ERR_SOCKET: 'The receiver closed the connection.',
  EHOSTUNREACH: 'The receiver cannot be reached.',
  ENETUNREACH: 'The receiver cannot be reached.',
  ETIMEDOUT: 'The connection could not be made in time.',
  UND_ERR_HEADERS_OVERFLOW: 'The headers of the answer are too long.',
};

const lookUpTexts: Readonly<Record<string, string>> = {
  ENOTFOUND: 'The name of the receiver does not exist.',
  ENODATA: 'The name of the receiver has no address.',
};

/** Of `dns`: its codes are partly those of connections. */
const isLookUp = (syscall: string): boolean => syscall.startsWith('query') || syscall === 'getaddrinfo';

function textOf(error: Error | undefined, limitMs: number): string {
  if (error === timedOut) return `No answer within ${limitMs / 1_000} seconds.`;
  if (error instanceof TargetRefused) return error.message;
  const { code = '', syscall = '' } = (error ?? {}) as NodeJS.ErrnoException;
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return textOf(error.errors[0], limitMs);
  if (/^(CERT_|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_SSL|EPROTO)/.test(code)) {
    return `The certificate or the TLS handshake is not valid (${code}).`;
  }
  if (error instanceof errors.HTTPParserError) return 'The answer is no HTTP.';
  if (isLookUp(syscall) && !(code in lookUpTexts)) return 'The name of the receiver could not be looked up.';
  return lookUpTexts[code] ?? texts[code] ?? `The attempt failed${/^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? ` (${code})` : ''}.`;
}
