import { createShop, type Shop } from '@plant-shop/client';
import { address, clientId } from './shop.js';

// Log-in with the shop's OAuth server: authorization code with PKCE (RFC 7636). Tokens are kept in memory and lost with the page. The
// session at the shop lasts, so the next log-in asks for no password.

const redirectUri = `${location.origin}/`;

/** Redirects to the shop's log-in page. */
export async function beginLogin(): Promise<void> {
  const [verifier, state] = [randomText(), randomText()];
  sessionStorage.setItem('login', JSON.stringify({ verifier, state }));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  open('/oauth/authorize', {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: 'write:orders',
    state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  });
}

/**
 * Completes the log-in if the shop has just redirected back.
 * @returns the shop for the user; undefined: nobody logs in
 * @throws Error if the log-in failed
 */
export async function finishLogin(): Promise<Shop | undefined> {
  const answer = new URLSearchParams(location.search);
  const begun = sessionStorage.getItem('login');
  if (!answer.has('state') || begun === null) return undefined;
  // The code works once, so neither a reload nor the history may show it.
  sessionStorage.removeItem('login');
  history.replaceState(null, '', redirectUri);
  const { verifier, state } = JSON.parse(begun) as { verifier: string; state: string };
  if (answer.get('state') !== state) throw new Error('This log-in was not started by this page.');
  if (answer.has('error')) throw new Error(answer.get('error_description') ?? 'The log-in failed.');

  let grant: Record<string, string> = { grant_type: 'authorization_code', code: answer.get('code') ?? '', redirect_uri: redirectUri, code_verifier: verifier };
  return createShop({
    ...address,
    credential: {
      token: async ({ signal }) => {
        const response = await fetch(new URL('/oauth/token', address.url), { method: 'POST', body: new URLSearchParams({ ...grant, client_id: clientId }), signal });
        const got = (await response.json()) as { access_token: string; refresh_token: string; expires_in: number; error?: string };
        if (!response.ok) throw new Error(`Please log in again (${got.error}).`);
        // A refresh token works once; the answer has the next one.
        grant = { grant_type: 'refresh_token', refresh_token: got.refresh_token };
        return { token: got.access_token, expiresInMs: got.expires_in * 1_000 };
      },
    },
  });
}

/** Ends the session at the shop, which then redirects back. */
export const logOut = (): void => open('/oauth/logout', { client_id: clientId, post_logout_redirect_uri: redirectUri });

function open(path: string, query: Record<string, string>): void {
  const to = new URL(path, address.url);
  to.search = new URLSearchParams(query).toString();
  location.assign(to);
}

const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));
const base64url = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
