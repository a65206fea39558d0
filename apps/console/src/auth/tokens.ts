import type { Token, TokenRequest } from '@plant-shop/client';
import { type Permission, permissionsOf } from './permissions.js';

/** The grant sent to the token endpoint. */
export type Grant =
  | { readonly grant_type: 'authorization_code'; readonly code: string; readonly redirect_uri: string; readonly code_verifier: string }
  | { readonly grant_type: 'refresh_token'; readonly refresh_token: string };

interface TokenAnswer {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly expires_in: number;
  readonly scope?: string;
  readonly id_token?: string;
}

/** The logged-in user, as in the latest token response. */
export interface Person {
  readonly username: string;
  readonly permissions: ReadonlySet<Permission>;
}

/** The session was ended elsewhere, or has expired. */
class SessionEnded extends Error {}

const pauseMs = 1_000;

/** A user's tokens, kept in memory only: they end with the page. */
export class Tokens {
  private refreshToken: string | undefined;

  constructor(
    private readonly clientId: string,
    private grant: Grant,
    private readonly onPerson: (person: Person) => void,
    private readonly onEnd: () => void,
    private readonly onAway: () => void,
  ) {}

  /** Called by the client library, which shares one refresh among all concurrent calls. */
  readonly next = async ({ signal }: TokenRequest): Promise<Token> => {
    const response = await this.persistently(signal);
    if (!response.ok) {
      this.onEnd();
      throw new SessionEnded('Your session has ended. Log in again.');
    }
    const { access_token: token, refresh_token: refreshToken, expires_in: seconds, scope = '', id_token: idToken } = (await response.json()) as TokenAnswer;
    // Refresh tokens rotate: each is used once.
    if (refreshToken !== undefined) {
      this.refreshToken = refreshToken;
      this.grant = { grant_type: 'refresh_token', refresh_token: refreshToken };
    }
    if (idToken !== undefined) this.onPerson({ username: usernameOf(idToken), permissions: permissionsOf(scope) });
    return { token, expiresInMs: seconds * 1_000 };
  };

  /** Revokes the tokens, and ends the browser's login at identity. */
  async revoke(): Promise<void> {
    const answers = await Promise.all([
      ...(this.refreshToken === undefined ? [] : [this.ask('/oauth/revoke', { token: this.refreshToken, token_type_hint: 'refresh_token' })]),
      fetch('/oauth/interaction/logout', { method: 'POST', body: new URLSearchParams() }),
    ]);
    for (const one of answers) await one.text();
  }

  /** Repeats the request while the shop cannot be reached, until it answers or the call is aborted. */
  private async persistently(signal: AbortSignal): Promise<Response> {
    for (;;) {
      try {
        const response = await this.ask('/oauth/token', { ...this.grant }, signal);
        if (response.status < 500 && response.status !== 429) return response;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof TypeError)) throw error;
      }
      this.onAway();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      signal.throwIfAborted();
    }
  }

  private ask(path: string, fields: Record<string, string>, signal?: AbortSignal): Promise<Response> {
    return fetch(path, { method: 'POST', body: new URLSearchParams({ ...fields, client_id: this.clientId }), ...(signal && { signal }) });
  }
}

/** Does not verify the signature: the token comes directly from the token endpoint (OpenID Connect Core, 3.1.3.7). */
function usernameOf(idToken: string): string {
  const payload = (idToken.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
  return (JSON.parse(new TextDecoder().decode(bytes)) as { preferred_username: string }).preferred_username;
}
