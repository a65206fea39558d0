// Log-in from a web page: authorization code with PKCE (RFC 7636), for a public OAuth client whose redirect URI is the page itself. Tokens
// are kept in memory and lost with the page. The session at the shop lasts, so logging in again takes only a redirect.
import { createShop } from '@plant-shop/client';

const SCOPE = 'write:orders';

/** Redirects to the shop's log-in page. @param {{ url: string, clientId: string, redirectUri: string }} app */
export async function beginLogin({ url, clientId, redirectUri }) {
  const [verifier, state] = [randomText(), randomText()];
  sessionStorage.setItem('login', JSON.stringify({ verifier, state }));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const address = new URL('/oauth/authorize', url);
  address.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: SCOPE,
    state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  }).toString();
  location.assign(address.href);
}

/** Completes the log-in after the redirect back. Returns a shop for the user. @param {{ url: string, streamUrl?: string, clientId: string, redirectUri: string }} app */
export async function finishLogin({ url, streamUrl, clientId, redirectUri }) {
  const answer = new URL(location.href).searchParams;
  const { verifier, state } = JSON.parse(sessionStorage.getItem('login') ?? '{}');
  sessionStorage.removeItem('login');
  if (answer.get('state') !== state) throw new Error('This log-in was not started by this page.');
  if (answer.has('error')) throw new Error(answer.get('error_description') ?? answer.get('error') ?? 'The log-in failed.');

  let grant = { grant_type: 'authorization_code', code: answer.get('code') ?? '', redirect_uri: redirectUri, code_verifier: verifier };
  const token = async ({ signal }) => {
    const response = await fetch(new URL('/oauth/token', url), { method: 'POST', body: new URLSearchParams({ ...grant, client_id: clientId }), signal });
    const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds, error } = await response.json();
    if (!response.ok) throw new Error(`Log in again (${error}).`);
    // A refresh token can be used only once; the answer contains the next one.
    grant = { grant_type: 'refresh_token', refresh_token: refreshToken };
    return { token: accessToken, expiresInMs: seconds * 1_000 };
  };
  return createShop({ url, streamUrl, credential: { token } });
}

const randomText = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
