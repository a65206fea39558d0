import { Limit, nothing, waitFor } from './abort.js';
import { lost } from './answers.js';
import { type Credential, type GrantedToken, grantToken, limitMs, staleAt, type TokenRequest } from './credentials.js';
import { CredentialRefused } from './errors.js';
import { originOf } from './origin.js';

/** A web page that is a public OAuth client of the shop. */
export interface LoginOptions {
  /** Address of the shop: `https://shop.example`. */
  readonly url: string;
  readonly clientId: string;
  /** A redirect URI of the client: the page that calls `finish`. */
  readonly redirectUri: string;
  /** Permissions to ask for, separated by spaces: `write:orders`. */
  readonly scope: string;
  /** One of the client's addresses for after a logout. With it, `logOut` also ends the login at the shop. */
  readonly postLogoutRedirectUri?: string;
  readonly fetch?: typeof globalThis.fetch;
}

export interface Login {
  /**
   * Leaves the page for the shop's login page. `prompt: 'login'` asks for the password although the browser is logged in.
   *
   * @param options `returnTo`: kept until `finish` returns it. Default: the path of this page.
   * @throws LoginFailed on a page without https
   */
  begin(options?: { readonly returnTo?: string; readonly prompt?: 'login' | 'consent' }): Promise<void>;
  /**
   * Takes the answer of the login page out of this page's address.
   *
   * @returns undefined if the address has none: nobody is logged in
   * @throws LoginFailed; CredentialRefused if the code has expired
   */
  finish(): Promise<LoginSession | undefined>;
}

/** A user's login. Its tokens are kept in memory, and lost with the page; the login at the shop lasts, so `begin` takes only a redirect then. */
export interface LoginSession {
  /** For `createShop`, also of several shops. When the session has ended, calls throw `CredentialRefused`: begin again. */
  readonly credential: Credential;
  /** The permissions that the user has and granted. */
  readonly scopes: readonly string[];
  readonly returnTo: string;
  /** Revokes the tokens, and leaves for the shop's logout page if there is a `postLogoutRedirectUri`. @throws Unreachable: forgotten here, but not revoked */
  logOut(): Promise<void>;
}

/** The login page gave no code, or not to this page. */
export class LoginFailed extends Error {
  /** @param code the OAuth error, such as `access_denied`; `state-mismatch`: this page did not begin this login; `insecure-page`: it has no https */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = 'LoginFailed';
  }
}

/** Kept while the user is on the login page. */
interface Pending {
  readonly state: string;
  /** Proves that the code was requested here (PKCE, RFC 7636). Useless without the code. */
  readonly verifier: string;
  readonly returnTo: string;
}

/** Logs users in by authorization code with PKCE. @throws InvalidUrl */
export function createLogin(options: LoginOptions): Login {
  const origin = originOf(options.url);
  const { clientId, redirectUri, scope } = options;
  const fetch: typeof globalThis.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const key = `plant-shop-login:${clientId}`;
  let finishing: Promise<LoginSession> | undefined;

  const begin: Login['begin'] = async ({ returnTo = location.pathname + location.search + location.hash, prompt } = {}) => {
    const [state, verifier] = [randomText(), randomText()];
    const challenge = await challengeOf(verifier);
    sessionStorage.setItem(key, JSON.stringify({ state, verifier, returnTo } satisfies Pending));
    location.assign(
      addressOf(origin, '/oauth/authorize', {
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        scope,
        state,
        code_challenge: challenge,
        code_challenge_method: 'S256',
        ...(prompt && { prompt }),
      }),
    );
  };

  const complete = async (answer: URLSearchParams, pending: Pending | null): Promise<LoginSession> => {
    if (answer.get('state') !== pending?.state) throw new LoginFailed('state-mismatch', 'This page did not begin this login.');
    const error = answer.get('error');
    if (error !== null) throw new LoginFailed(error, answer.get('error_description') ?? `The shop answered ${error}.`);
    const tokens = new LoginTokens(origin, clientId, fetch);
    const scopes = await tokens.begin({ grant_type: 'authorization_code', code: answer.get('code') ?? '', redirect_uri: redirectUri, code_verifier: pending.verifier });
    const { postLogoutRedirectUri: goodbye } = options;
    const logOut = (): Promise<void> =>
      tokens.revoke().finally(() => {
        if (goodbye !== undefined) location.assign(addressOf(origin, '/oauth/logout', { client_id: clientId, post_logout_redirect_uri: goodbye }));
      });
    return { credential: { token: async (request) => tokens.next(request) }, scopes, returnTo: pending.returnTo, logOut };
  };

  return {
    begin,
    finish: async () => {
      // Before the first `await`, so that a second call while this one waits does not take the same code.
      const answer = takeAnswer();
      if (answer) finishing = complete(answer, takePending(key));
      return finishing;
    },
  };
}

/** Removes the answer of the login page from the address and the history. */
function takeAnswer(): URLSearchParams | undefined {
  const url = new URL(location.href);
  const answer = new URLSearchParams(url.search);
  if (!answer.has('state') || !(answer.has('code') || answer.has('error'))) return undefined;
  for (const name of ['state', 'code', 'iss', 'error', 'error_description']) url.searchParams.delete(name);
  history.replaceState(history.state, '', url.href);
  return answer;
}

function takePending(key: string): Pending | null {
  const pending = JSON.parse(sessionStorage.getItem(key) ?? 'null') as Pending | null;
  sessionStorage.removeItem(key);
  return pending;
}

/** The tokens of a login. */
class LoginTokens {
  private current: { readonly token: string; readonly staleAt: number; readonly expiresAt: number } | undefined;
  private refreshToken: string | undefined;
  private flight: Promise<GrantedToken> | undefined;
  private hasEnded = false;

  constructor(
    private readonly origin: string,
    private readonly clientId: string,
    private readonly fetch: typeof globalThis.fetch,
  ) {}

  /** @returns the granted permissions */
  async begin(grant: Record<string, string>): Promise<readonly string[]> {
    const { scope } = await this.granted(grant);
    return scope.split(' ').filter(Boolean);
  }

  /** Returns the current token, or another one. All concurrent calls share one refresh: a refresh token can be used only once. */
  async next({ refused, signal }: TokenRequest): Promise<{ readonly token: string; readonly expiresInMs: number }> {
    if (this.current?.token === refused || performance.now() >= (this.current?.staleAt ?? 0)) {
      this.flight ??= this.refresh().finally(() => (this.flight = undefined));
      await waitFor(this.flight, signal);
    }
    if (!this.current) throw ended();
    return { token: this.current.token, expiresInMs: this.current.expiresAt - performance.now() };
  }

  /** Forgets the tokens, and revokes them: one ends the whole grant. */
  async revoke(): Promise<void> {
    this.hasEnded = true;
    // A refresh under way would bring new ones.
    await this.flight?.catch(nothing);
    const token = this.refreshToken ?? this.current?.token;
    this.current = this.refreshToken = undefined;
    if (token === undefined) return;
    const body = new URLSearchParams({ token, client_id: this.clientId });
    const response = await this.fetch(`${this.origin}/oauth/revoke`, { method: 'POST', body, redirect: 'manual', signal: AbortSignal.timeout(limitMs) }).catch((cause: unknown) => {
      throw lost(this.origin, cause);
    });
    if (!response.ok) throw new CredentialRefused('revocation-refused', `The shop answered ${response.status} to the revocation.`);
  }

  private async refresh(): Promise<GrantedToken> {
    if (this.hasEnded || this.refreshToken === undefined) throw ended();
    return this.granted({ grant_type: 'refresh_token', refresh_token: this.refreshToken });
  }

  /** Not aborted by callers: the shop may have replaced the refresh token already, and its answer has the next one. */
  private async granted(grant: Record<string, string>): Promise<GrantedToken> {
    const limit = new Limit(undefined, limitMs);
    try {
      const granted = await grantToken(this.origin, this.fetch, { ...grant, client_id: this.clientId }, limit.signal);
      const { token, expiresInMs = Infinity } = granted;
      this.current = { token, staleAt: staleAt(expiresInMs), expiresAt: performance.now() + expiresInMs };
      this.refreshToken = granted.refreshToken ?? this.refreshToken;
      return granted;
    } finally {
      limit.close();
    }
  }
}

const ended = (): CredentialRefused => new CredentialRefused('login_required', 'The session has ended. Log in again.');

function addressOf(origin: string, path: string, query: Record<string, string>): string {
  return `${origin}${path}?${new URLSearchParams(query).toString()}`;
}

async function challengeOf(verifier: string): Promise<string> {
  const { subtle } = globalThis.crypto as { readonly subtle?: SubtleCrypto };
  if (!subtle) throw new LoginFailed('insecure-page', 'A browser offers the cryptography that a login needs only to pages with https, and to localhost.');
  return base64url(new Uint8Array(await subtle.digest('SHA-256', new TextEncoder().encode(verifier))));
}

const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));
const base64url = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
