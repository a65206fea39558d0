import type { Settings } from '../app/settings.js';
import { permissions } from './permissions.js';
import { newChallenge, randomText } from './pkce.js';
import type { Grant } from './tokens.js';

/** What is kept while the person is on the shop's log-in page. A verifier is worth nothing without the code. */
interface Pending {
  readonly verifier: string;
  readonly state: string;
  /** Where in the console to continue. */
  readonly path: string;
}

const pendingKey = 'console-login';
const loggedOutKey = 'console-logged-out';

/** Where the shop sends people back to. */
const redirectUri = (): string => new URL(import.meta.env.BASE_URL, location.origin).href;

/** Leaves for the shop's log-in page. */
export async function beginLogin(settings: Settings): Promise<void> {
  const { verifier, challenge } = await newChallenge();
  const state = randomText();
  const path = location.pathname + location.search;
  sessionStorage.setItem(pendingKey, JSON.stringify({ verifier, state, path } satisfies Pending));
  const address = new URL('/oauth/authorize', settings.publicUrl);
  address.search = new URLSearchParams({
    response_type: 'code',
    client_id: settings.oauthClient,
    redirect_uri: redirectUri(),
    scope: ['openid', ...permissions].join(' '),
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...(wasLoggedOut() && { prompt: 'login' }),
  }).toString();
  location.assign(address.href);
}

/** The log-in did not end with a code. */
export class LoginFailed extends Error {}

/**
 * Takes the answer of the log-in page out of the address, so that it stays in no history.
 * @returns nothing when there is none
 * @throws LoginFailed
 */
export function takeAnswer(): { readonly grant: Grant } | undefined {
  const answer = new URLSearchParams(location.search);
  if (!answer.has('state')) return undefined;
  const pending = JSON.parse(sessionStorage.getItem(pendingKey) ?? 'null') as Pending | null;
  sessionStorage.removeItem(pendingKey);
  history.replaceState(null, '', pending?.path ?? import.meta.env.BASE_URL);
  if (answer.get('state') !== pending?.state) throw new LoginFailed('This is not the answer to a log-in that began on this page.');
  if (answer.has('error')) throw new LoginFailed(answer.get('error_description') ?? answer.get('error') ?? 'The shop gave no reason.');
  sessionStorage.removeItem(loggedOutKey);
  return { grant: { grant_type: 'authorization_code', code: answer.get('code') ?? '', redirect_uri: redirectUri(), code_verifier: pending.verifier } };
}

/** Whether the last thing that happened in this tab was a log-out. Then loading the page again does not log in. */
export const wasLoggedOut = (): boolean => sessionStorage.getItem(loggedOutKey) !== null;

export const rememberLogOut = (): void => sessionStorage.setItem(loggedOutKey, 'yes');
