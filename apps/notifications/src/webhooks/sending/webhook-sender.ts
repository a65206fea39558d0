import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { DeliveryResponse } from '@plant-shop/contracts/notifications';
import { Agent, type Dispatcher, errors } from 'undici';
import { type TargetGuard, TargetRefused } from '../endpoints/target-guard.js';
import { guardedConnector } from './connector.js';

export interface WebhookSenderOptions {
  /** Time limit of an attempt: DNS, connection, TLS, headers and body. */
  readonly attemptLimitMs: number;
  /** Part of that limit for the body of the response. */
  readonly bodyLimitMs: number;
  readonly maxConnectionsPerOrigin: number;
  /** Certificate authorities in addition to the system's. */
  readonly ca?: string;
}

/** The result of one POST. */
export interface SendResult {
  readonly at: Date;
  readonly durationMs: number;
  /** Undefined without a response. */
  readonly status?: number;
  /** A text for people, undefined for a success. Contains nothing that the receiver sent. */
  readonly error?: string;
  readonly retryAfterMs?: number;
  /** Of a failure, for the endpoint's owner. Must not be logged. */
  readonly response?: DeliveryResponse;
  /** Of any answer, for the endpoint's owner. Must not be logged. */
  readonly excerpt?: Partial<DeliveryResponse>;
  /** Set if the body of the response had not ended within its time limit. */
  readonly isUnfinished?: true;
  /** Set if `cut` or `mayBegin` ended the attempt before a response: it says nothing about the receiver. */
  readonly isCut?: true;
}

export interface Post {
  readonly url: URL;
  /** When this attempt begins, by `AgreedTime`: receivers compare it with their clocks. */
  readonly at: Date;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Asked immediately before the first byte, which may be as late as the attempt's time limit. */
  readonly mayBegin: () => boolean;
}

/** A POST that has begun. */
export interface Sending {
  readonly result: Promise<SendResult>;
  /** Ends the attempt, and closes its connection. An `AbortSignal` for each would cost a tenth of a delivery. */
  cut(): void;
}

/** A longer response ends the attempt's connection; reading a shorter one to its end lets the connection be reused. */
const maxResponseBytes = 64 * 1024;
/** Which part of a response is shown, in characters. */
interface Extent {
  readonly headers: number;
  readonly header: number;
  readonly body: number;
  /** Undefined: all headers. */
  readonly only?: RegExp;
}
/** Of the last attempt, if it failed. */
const wholeExtent: Extent = { headers: 2_048, header: 256, body: 4_096 };
const ids = '(?:^|-)(?:request|correlation|trace)-?id$|^cf-ray$';
/** Of each attempt that failed. */
const refusalExtent: Extent = { headers: 400, header: 120, body: 400, only: new RegExp(`^(?:content-type|location|retry-after|server|via)$|${ids}`) };
/** Of a success: enough to find it in the receiver's logs, and small beside the event. */
const acceptanceExtent: Extent = { headers: 200, header: 120, body: 200, only: new RegExp(ids) };
/** Bytes kept of a response: more than is shown, so that a secret is redacted before it is cut. */
const keptBytes = ({ body }: Extent): number => 2 * body;

const timedOut = new Error('time limit');
const tooLong = new Error('response too long');
const cut = new Error('cut');

/** Headers of every attempt. */
export const fixedHeaders = { 'content-type': 'application/json', 'user-agent': 'plant-shop-webhooks/1' };

// Standard Webhooks 1.0 (standardwebhooks.com), symmetric signatures.

/**
 * Returns the headers that sign an attempt, with one signature for each secret.
 * @param at when this attempt begins: receivers refuse old timestamps
 */
export function signedHeaders(eventId: string, at: Date, body: string, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${eventId}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': eventId, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

/** Sends POSTs by undici's dispatcher: `fetch` costs ten times as much, and uses the environment's proxies. */
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
      // `Attempt` has one limit for all of it.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  send(post: Post): Sending {
    // Checked again at each attempt: the rules may have changed since the URL was set, and a connection may be reused.
    const fault = this.guard.faultOf(post.url);
    if (fault !== undefined) return { result: Promise.resolve({ at: post.at, durationMs: 0, error: `The URL ${fault}.` }), cut: () => undefined };
    const attempt = new Attempt(post, this.agent, this.options);
    attempt.begin();
    return attempt;
  }

  /** Aborts attempts in progress. */
  close(): Promise<void> {
    return this.agent.destroy();
  }
}

/** One POST. Settles once: with the response, an error or the time limit, whichever comes first. */
class Attempt implements Dispatcher.DispatchHandler, Sending {
  readonly result: Promise<SendResult>;
  private readonly done: (sent: SendResult) => void;
  private readonly startedAt = performance.now();
  private readonly limitMs: number;
  private readonly bodyLimitMs: number;
  private timer: NodeJS.Timeout | undefined;
  private controller: Dispatcher.DispatchController | undefined;
  private isSettled = false;
  private status: number | undefined;
  private retryAfterMs: number | undefined;
  private bytes = 0;
  private headers: IncomingHttpHeaders | undefined;
  private extent = wholeExtent;
  private readonly chunks: Buffer[] = [];

  constructor(
    private readonly post: Post,
    private readonly agent: Agent,
    { attemptLimitMs, bodyLimitMs }: WebhookSenderOptions,
  ) {
    ({ promise: this.result, resolve: this.done } = Promise.withResolvers<SendResult>());
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
      headers: { ...headers, ...fixedHeaders },
      body,
    } as const;
    try {
      this.agent.dispatch(options, this);
    } catch (error) {
      // undici throws for requests that it refuses to send.
      this.settle(error as Error);
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (!this.isSettled && !this.post.mayBegin()) this.settle(cut);
    // Settled while it waited for a connection: send nothing.
    if (this.isSettled) controller.abort(cut);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
    this.extent = status < 300 ? acceptanceExtent : wholeExtent;
    this.retryAfterMs = retryAfterMs(headers['retry-after'], new Date(this.post.at.getTime() + performance.now() - this.startedAt));
    // The status decides. The body, whose beginning is kept, is read within its own limit: a receiver that sends it slowly must not occupy
    // the slot.
    const leftMs = this.limitMs - (performance.now() - this.startedAt);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.stop(timedOut), Math.max(0, Math.min(this.bodyLimitMs, leftMs)));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.bytes < keptBytes(this.extent)) this.chunks.push(chunk);
    this.bytes += chunk.length;
    if (this.bytes > maxResponseBytes) this.stop(tooLong);
  }

  onResponseEnd(): void {
    this.settle();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.settle(error);
  }

  cut(): void {
    this.stop(cut);
  }

  private stop(reason: Error): void {
    this.settle(reason);
    this.controller?.abort(reason);
  }

  private settle(error?: Error): void {
    if (this.isSettled) return;
    this.isSettled = true;
    clearTimeout(this.timer);
    const { status, headers } = this;
    if (status === undefined && error === cut) {
      this.done({ at: this.post.at, durationMs: Math.round(performance.now() - this.startedAt), isCut: true });
      return;
    }
    // Errors after the status change nothing: the receiver has already accepted or refused the event.
    const text = status === undefined ? textOf(error, this.limitMs) : statusText(status);
    this.done({
      at: this.post.at,
      durationMs: Math.round(performance.now() - this.startedAt),
      ...(status !== undefined && { status }),
      ...(text !== undefined && { error: text }),
      ...(this.retryAfterMs !== undefined && { retryAfterMs: this.retryAfterMs }),
      ...(headers && this.shown(headers, error === undefined)),
      ...(status !== undefined && error === timedOut && { isUnfinished: true }),
    });
  }

  /** @param hasEnded whether the body was read to its end */
  private shown(headers: IncomingHttpHeaders, hasEnded: boolean): Pick<SendResult, 'response' | 'excerpt'> {
    const [first = Buffer.alloc(0), ...rest] = this.chunks;
    const bytes = rest.length === 0 ? first : Buffer.concat(this.chunks);
    const partOf = (extent: Extent): DeliveryResponse => shown(headers, bytes.subarray(0, keptBytes(extent)), hasEnded && this.bytes <= keptBytes(extent), extent);
    if (this.extent === wholeExtent) return { response: partOf(wholeExtent), ...withoutEmpty(partOf(refusalExtent)) };
    return withoutEmpty(partOf(acceptanceExtent));
  }
}

/** Maximum Retry-After that is honoured. */
export const maxRetryAfterMs = 86_400_000;

/** Parses Retry-After (RFC 9110, 10.2.3): seconds or a date. Returns undefined for anything else. */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,12}$/.test(header)) return Math.min(Number(header) * 1_000, maxRetryAfterMs);
  // All three forms of an HTTP date begin with the day of the week.
  const date = /^(mon|tue|wed|thu|fri|sat|sun)/i.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, date - now.getTime()), maxRetryAfterMs);
}

/** Omits what is empty: it is kept for each delivery. */
function withoutEmpty({ headers, body, truncated }: DeliveryResponse): Pick<SendResult, 'excerpt'> {
  const hasHeaders = Object.keys(headers).length > 0;
  if (body === '') return hasHeaders ? { excerpt: { headers } } : {};
  if (truncated) return { excerpt: { ...(hasHeaders && { headers }), body, truncated } };
  return { excerpt: hasHeaders ? { headers, body } : { body } };
}

const censored = '[redacted]';
const secretHeader = /auth|cookie|credential|key|password|secret|signature|token/i;
// Repetitions are bounded: a receiver chooses the text, and must not make its redaction slow.
const secretMembers = /("[^"]{0,64}(?:password|secret|token|api[-_]?key|signature)[^"]{0,64}"\s{0,8}:\s{0,8}")[^"]{0,1024}/gi;
const secretParameters = /((?:password|secret|token|api[-_]?key|signature)=)[^&\s"']{1,1024}/gi;
const userInfo = /(:\/\/)[^\s"'<>@/]{1,256}@/g;
const secrets = /whsec_[\w+/=]{1,1024}|(?<![\w+/])[\w+/]{43}=|\bBearer\s{1,8}\S{1,1024}|(?<![\w.-])eyJ[\w-]{1,1024}\.[\w-]{1,1024}\.[\w-]{0,1024}/g;
/** What each of the above begins with or contains: most answers have none of it, and one search costs less than four. */
const traces = /password|secret|token|key|signature|:\/\/|whsec_|Bearer|eyJ|[\w+/]{43}=/i;
const withoutSecrets = (text: string): string =>
  !traces.test(text) ? text : text.replaceAll(secretMembers, `$1${censored}`).replaceAll(secretParameters, `$1${censored}`).replaceAll(userInfo, `$1${censored}@`).replaceAll(secrets, censored);

/** Returns the beginning of a response without what may be secret. Postgres stores no NUL. */
function shown(received: IncomingHttpHeaders, bytes: Uint8Array, isWhole: boolean, extent: Extent): DeliveryResponse {
  const headers: Record<string, string> = {};
  let left = extent.headers;
  for (const [name, value = ''] of Object.entries(received)) {
    if (extent.only?.test(name) === false) continue;
    const text = secretHeader.test(name) ? censored : withoutSecrets([value].flat().join(', ').slice(0, 2 * extent.header)).slice(0, extent.header);
    if ((left -= name.length + text.length) < 0) break;
    headers[name] = text;
  }
  const all = bytes.length === 0 ? '' : withoutSecrets(new TextDecoder().decode(bytes, { stream: true }));
  const body = all.slice(0, extent.body).toWellFormed().replaceAll('\0', '\ufffd');
  return { headers, body, ...((!isWhole || all.length > body.length) && { truncated: true }) };
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
  UND_ERR_HEADERS_OVERFLOW: 'The headers of the response are too long.',
};

const lookUpTexts: Readonly<Record<string, string>> = {
  ENOTFOUND: 'The name of the receiver does not exist.',
  ENODATA: 'The name of the receiver has no address.',
};

/** Returns whether an error is of a look-up: some codes of `dns` are also codes of connections. */
const isLookUp = (syscall: string): boolean => syscall.startsWith('query') || syscall === 'getaddrinfo';

function textOf(error: Error | undefined, limitMs: number): string {
  if (error === timedOut) return `No answer within ${limitMs / 1_000} seconds.`;
  if (error instanceof TargetRefused) return error.message;
  const { code = '', syscall = '' } = (error ?? {}) as NodeJS.ErrnoException;
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return textOf(error.errors[0], limitMs);
  if (/^(CERT_|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_SSL|EPROTO)/.test(code)) {
    return `The certificate or the TLS handshake is not valid (${code}).`;
  }
  if (error instanceof errors.HTTPParserError) return 'The response is not HTTP.';
  if (isLookUp(syscall) && !(code in lookUpTexts)) return 'The name of the receiver could not be looked up.';
  return lookUpTexts[code] ?? texts[code] ?? `The attempt failed${/^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? ` (${code})` : ''}.`;
}
