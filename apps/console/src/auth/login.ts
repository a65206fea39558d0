import type { Settings } from '../app/settings.js';
import { permissions } from './permissions.js';
import { newChallenge, randomText } from './pkce.js';
import type { Grant } from './tokens.js';

/** State kept while the user is on the login page. A verifier is useless without the code. */
interface Pending {
  readonly verifier: string;
  readonly state: string;
  /** Path in the console to return to. */
  readonly path: string;
  /** The router's state of the history's entry, by which it finds the scroll position. */
  readonly entry: unknown;
}

const pendingKey = 'console-login';
const loggedOutKey = 'console-logged-out';

/** The redirect URI of the login. */
const redirectUri = (): string => new URL(import.meta.env.BASE_URL, location.origin).href;

/** Navigates to the shop's login page. */
export async function beginLogin(settings: Settings): Promise<void> {
  const { verifier, challenge } = await newChallenge();
  const state = randomText();
  const path = location.pathname + location.search;
  sessionStorage.setItem(pendingKey, JSON.stringify({ verifier, state, path, entry: history.state as unknown } satisfies Pending));
  const address = new URL('/oauth/authorize', settings.publicUrl);
  address.search = new URLSearchParams({
    response_type: 'code',
    client_id: settings.oauthClient,
    redirect_uri: redirectUri(),
    // No page depends on read:plants, but keys have it, and nobody gives what they lack.
    scope: ['openid', 'read:plants', ...permissions].join(' '),
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...(wasLoggedOut() && { prompt: 'login' }),
  }).toString();
  // Replaces the page in the history: otherwise each reload would add an entry, to which "Back" returns for ever.
  location.replace(address.href);
}

/** The login ended without a code. */
export class LoginFailed extends Error {}

/**
 * Reads the response of the login page from the URL, and removes it from the history.
 * @returns undefined without a response
 * @throws LoginFailed
 */
export function takeAnswer(): { readonly grant: Grant } | undefined {
  const answer = new URLSearchParams(location.search);
  // Pages have filters that are called `state`.
  if (location.pathname !== import.meta.env.BASE_URL || !answer.has('state')) return undefined;
  const pending = JSON.parse(sessionStorage.getItem(pendingKey) ?? 'null') as Pending | null;
  sessionStorage.removeItem(pendingKey);
  history.replaceState(pending?.entry ?? history.state, '', pending?.path ?? import.meta.env.BASE_URL);
  if (answer.get('state') !== pending?.state) throw new LoginFailed('This is not the answer to the login that this page started.');
  if (answer.has('error')) throw new LoginFailed(answer.get('error_description') ?? answer.get('error') ?? 'The shop gave no reason.');
  sessionStorage.removeItem(loggedOutKey);
  return { grant: { grant_type: 'authorization_code', code: answer.get('code') ?? '', redirect_uri: redirectUri(), code_verifier: pending.verifier } };
}

/** Whether the user has logged out in this tab. Then a reload does not log in again. */
export const wasLoggedOut = (): boolean => sessionStorage.getItem(loggedOutKey) !== null;

export const rememberLogOut = (): void => sessionStorage.setItem(loggedOutKey, 'yes');
