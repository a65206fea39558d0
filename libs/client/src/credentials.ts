import { Limit, nothing, sleep, waitFor } from './abort.js';
import { problemOf, lost } from './answers.js';
import { CredentialRefused, DeadlinePassed, type ShopError } from './errors.js';
import { pauseMs, retryAfterOf } from './repeat.js';

/** How a program authenticates. */
export type Credential =
  | { readonly apiKey: string }
  /** A user's session. The library logs in when first needed, and again when the session has ended. */
  | { readonly username: string; readonly password: string }
  /** OAuth 2.0 client credentials. Without `scope` the token has all scopes of the client. */
  | { readonly clientId: string; readonly clientSecret: string; readonly scope?: string }
  /** Tokens that the program obtains itself. `refused` is the token that the shop did not accept, if the new one replaces it. */
  | { readonly token: (context: TokenRequest) => Promise<Token | string> };

export interface TokenRequest {
  readonly refused: string | undefined;
  readonly signal: AbortSignal;
}

export interface Token {
  readonly token: string;
  /** The token is replaced shortly before this time has passed. Absent: it is used until the shop refuses it. */
  readonly expiresInMs?: number | undefined;
}

/** Provides the transport with tokens. */
export interface TokenSource {
  /** Returns the current token. Concurrent calls share the request for a new one. */
  token(signal: AbortSignal): Promise<string>;
  /** Adds the token to the headers of a request. */
  show(token: string, headers: Headers): void;
  /** Reports that the shop refused the token. @returns whether another one can be obtained */
  refused(token: string): boolean;
  /** The API key, the only credential that a WebSocket can send: it has no headers. */
  readonly apiKey?: string;
}

/** How long before their expiry tokens are replaced. */
const marginMs = 30_000;
/** Time limit of a login or a token request. */
export const limitMs = 20_000;

/** @param origin the shop's origin */
export function tokenSourceOf(credential: Credential, origin: string, fetch: typeof globalThis.fetch): TokenSource {
  if ('apiKey' in credential) return apiKeySource(credential.apiKey);
  if ('token' in credential) return new RenewedTokens(credential.token);
  const get = 'username' in credential ? logIn : getToken;
  return new RenewedTokens(async ({ signal }) => (get as typeof logIn)(credential as never, origin, fetch, signal));
}

const apiKeySource = (apiKey: string): TokenSource => ({
  apiKey,
  token: async () => apiKey,
  show: (key, headers) => headers.set('api_key', key),
  refused: () => false,
});

/** A bearer token that is replaced when it expires or is refused, once for all calls in flight. */
class RenewedTokens implements TokenSource {
  private current: { readonly token: string; readonly staleAt: number } | undefined;
  private renewal: { readonly result: Promise<string>; readonly limit: Limit; waiting: number } | undefined;
  private lastRefused: string | undefined;

  constructor(private readonly get: (request: TokenRequest) => Promise<Token | string>) {}

  async token(signal: AbortSignal): Promise<string> {
    if (this.current && performance.now() < this.current.staleAt) return this.current.token;
    const renewal = (this.renewal ??= this.renew());
    renewal.waiting += 1;
    try {
      return await waitFor(renewal.result, signal);
    } finally {
      renewal.waiting -= 1;
      // All callers have aborted: end the request, so that its connection does not outlive them.
      if (renewal.waiting === 0) {
        renewal.limit.abort(new Error('no call is waiting for the token'));
        if (this.renewal === renewal) this.renewal = undefined;
      }
    }
  }

  show(token: string, headers: Headers): void {
    headers.set('authorization', `Bearer ${token}`);
  }

  refused(token: string): boolean {
    this.lastRefused = token;
    // Another call may have replaced it already.
    if (this.current?.token === token) this.current = undefined;
    return true;
  }

  private renew(): { readonly result: Promise<string>; readonly limit: Limit; waiting: number } {
    const limit = new Limit(undefined, limitMs);
    const result = this.got(limit).finally(() => limit.close());
    // Callers get the rejection. It must not count as unhandled when all of them have aborted.
    result.catch(nothing);
    return { result, limit, waiting: 0 };
  }

  private async got(limit: Limit): Promise<string> {
    const answer = await waitFor(this.get({ refused: this.lastRefused, signal: limit.signal }), limit.signal).catch((cause: unknown) => {
      throw limit.signal.aborted ? new DeadlinePassed('Getting a token', limitMs, { outcome: 'not-done', cause }) : cause;
    });
    const { token, expiresInMs } = typeof answer === 'string' ? { token: answer } : answer;
    this.current = { token, staleAt: staleAt(expiresInMs) };
    return token;
  }
}

/** Returns when to replace a token. The margin is at most half of its lifetime: a token of one minute is replaced after 30 s. */
export const staleAt = (expiresInMs = Infinity): number => performance.now() + Math.max(expiresInMs - marginMs, expiresInMs / 2);

/** Opens a session. Safe to repeat after a lost connection: an unused session expires. */
async function logIn({ username, password }: { readonly username: string; readonly password: string }, origin: string, fetch: typeof globalThis.fetch, signal: AbortSignal): Promise<Token> {
  const url = `${origin}/v3/user/login?${new URLSearchParams({ username, password }).toString()}`;
  const response = await persistently(() => ask(fetch, url, { signal }), signal);
  const { message } = (await response.json()) as { message: string };
  const [expires, now] = [response.headers.get('x-expires-after'), response.headers.get('date')].map((text) => Date.parse(text ?? ''));
  // By the shop's clock, from the Date header. Browsers hide it from pages of other origins, so there the local clock is used.
  const expiresInMs = (expires ?? NaN) - (Number.isNaN(now) ? Date.now() : (now ?? NaN));
  return { token: message, ...(expiresInMs > 0 && { expiresInMs }) };
}

/** Gets a token with the client's id and secret (RFC 6749, 4.4). */
async function getToken(
  { clientId, clientSecret, scope }: { readonly clientId: string; readonly clientSecret: string; readonly scope?: string },
  origin: string,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<Token> {
  const fields = { grant_type: 'client_credentials', ...(scope !== undefined && { scope }) };
  const secret = btoa([clientId, clientSecret].map(formEncoded).join(':'));
  return grantToken(origin, fetch, fields, signal, { authorization: `Basic ${secret}` });
}

/** An answer of the token endpoint (RFC 6749, 5.1). */
export interface GrantedToken extends Token {
  readonly refreshToken: string | undefined;
  readonly scope: string;
}

/** Asks the token endpoint, again while the shop is down. @throws CredentialRefused */
export async function grantToken(origin: string, fetch: typeof globalThis.fetch, fields: Record<string, string>, signal: AbortSignal, more: Record<string, string> = {}): Promise<GrantedToken> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...more };
  const body = new URLSearchParams(fields).toString();
  const response = await persistently(() => ask(fetch, `${origin}/oauth/token`, { method: 'POST', headers, body, signal }), signal);
  const { access_token: token, expires_in: seconds, refresh_token: refreshToken, scope = '' } = (await response.json()) as { access_token: string; expires_in?: number; refresh_token?: string; scope?: string };
  return { token, refreshToken, scope, ...(seconds !== undefined && { expiresInMs: seconds * 1_000 }) };
}

/** RFC 6749, 2.3.1. The result is ASCII, as `btoa` requires. */
const formEncoded = (text: string): string => new URLSearchParams({ x: text }).toString().slice(2);

async function ask(fetch: typeof globalThis.fetch, url: string, init: RequestInit): Promise<Response> {
  // The query may contain a password, which must not appear in errors.
  const address = url.replace(/\?.*/, '');
  const response = await fetch(url, { ...init, redirect: 'manual' }).catch((cause: unknown) => {
    throw lost(address, cause);
  });
  if (response.ok && (response.headers.get('content-type') ?? '').includes('json')) return response;
  const error = await oauthErrorOf(response.clone());
  if (error) throw error;
  throw await problemOf(response, address);
}

/** Returns the error of the token endpoint, which has its own format (RFC 6749, 5.2). */
async function oauthErrorOf(response: Response): Promise<CredentialRefused | undefined> {
  const body = (await response.json().catch(() => undefined)) as { error?: unknown; error_description?: unknown } | undefined;
  if (typeof body?.error !== 'string') return undefined;
  const { error, error_description: text } = body;
  const outcome = response.status === 429 || response.status >= 500 ? 'not-done' : 'refused';
  return new CredentialRefused(error, `The shop issued no token: ${error}${typeof text === 'string' ? ` (${text})` : ''}.`, { outcome, retryAfterMs: retryAfterOf(response.headers) });
}

/** Repeats the work while the shop is down. */
async function persistently(work: () => Promise<Response>, signal: AbortSignal): Promise<Response> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      const { outcome, retryAfterMs } = error as Partial<ShopError>;
      if ((outcome !== 'not-done' && outcome !== 'unknown') || (retryAfterMs ?? 0) >= limitMs) throw error;
      await sleep(pauseMs(retryAfterMs, failures, Math.random()), signal);
    }
  }
}
