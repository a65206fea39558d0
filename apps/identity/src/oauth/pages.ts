import { type Permission, permissionMeanings } from '@plant-shop/contracts/permissions';
import { CodedError } from '@plant-shop/platform/errors';
import { type Html, html } from '@plant-shop/platform/html/html';
import { pagePolicy, pageText } from '@plant-shop/contracts/page';
import type { ErrorOut } from 'oidc-provider';
import type { PageContext } from './form.js';
import type { IdentityScope } from './oauth-client.js';

export interface Page {
  readonly title: string;
  readonly main: Html;
  /** Redirect URI that submitting a form may lead to; the page's policy must allow it. */
  readonly redirectUri?: string;
}

export function sendPage(ctx: PageContext, { title, main, redirectUri }: Page): void {
  ctx.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': pagePolicy(redirectUri === undefined ? "'self'" : `'self' ${schemeOf(redirectUri)}`),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    // With a stricter policy, browsers would not send the Origin header with a form.
    'Referrer-Policy': 'same-origin',
  });
  ctx.type = 'html';
  ctx.body = pageText({ title, layout: 'card', main });
}

/**
 * Returns the scheme that `form-action` allows. Browsers check every redirect after a form against the policy of its page,
 * including the application's own redirects, so allowing only the origin of the redirect URI would be too strict.
 */
const schemeOf = (address: string): string => new URL(address).protocol;

/** What the forms of login and consent page have in common. */
export interface InteractionView {
  readonly action: string;
  /** Proves that identity rendered the form. */
  readonly proof: string;
  readonly client: string;
  readonly redirectUri: string;
}

const hidden = (proof: string): Html => html`<input type="hidden" name="proof" value="${proof}">`;

export interface LoginView extends InteractionView {
  readonly username?: string;
  readonly error?: string;
}

export function loginPage({ action, proof, client, redirectUri, username, error }: LoginView): Page {
  const alert = error === undefined ? undefined : html`<p class="error" id="error" role="alert">${error}</p>`;
  const invalid = error === undefined ? undefined : html` aria-describedby="error" aria-invalid="true"`;
  return {
    title: error === undefined ? 'Log in' : 'Error: Log in',
    redirectUri: redirectUri,
    main: html`<h1>Log in to the plant shop</h1>
<p class="dimmed">to continue to <strong>${client}</strong></p>
${alert}
<form method="post" action="${action}">
${hidden(proof)}
<label for="username">Username</label>
<input id="username" name="username" type="text" value="${username}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="64" required autofocus${invalid}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required${invalid}>
<button class="main" name="action" value="login">Log in</button>
</form>
<form method="post" action="${action}">
${hidden(proof)}
<button name="action" value="deny">Cancel</button>
</form>`,
  };
}

export interface ConsentView extends InteractionView {
  readonly username: string;
  /** Requested permissions that the user has. */
  readonly allowed: readonly Permission[];
  /** Requested permissions that the user lacks. */
  readonly notPermitted: readonly Permission[];
  /** Requested scopes about who the user is. */
  readonly identity: readonly IdentityScope[];
  /** Digest of the page; the form sends it back, so that only what was shown is allowed. */
  readonly digest: string;
}

export function consentPage(view: ConsentView): Page {
  const { action, proof, client, redirectUri, username, allowed, notPermitted, identity, digest } = view;
  const entries = (names: readonly Permission[]): Html[] => names.map((one) => html`<li>${permissionMeanings[one]}</li>\n`);
  const granted = [...identity.map((one) => html`<li>${identityMeanings[one]}</li>\n`), ...entries(allowed)];
  const lacking =
    notPermitted.length === 0
      ? undefined
      : html`<h2>Not included</h2>
<p>The application also asks for permissions that your account does not have:</p>
<ul>
${entries(notPermitted)}</ul>`;
  return {
    title: `Allow ${client}?`,
    redirectUri: redirectUri,
    main: html`<h1>Allow <strong>${client}</strong> to access your account?</h1>
<p>You are logged in as <strong>${username}</strong>. You will continue to <strong>${new URL(redirectUri).host}</strong>.</p>
<p>It will be able to:</p>
<ul>
${granted.length > 0 ? granted : html`<li>Nothing: your account has none of the requested permissions</li>\n`}</ul>
${lacking}
<form method="post" action="${action}">
${hidden(proof)}
<input type="hidden" name="shown" value="${digest}">
${granted.length > 0 ? html`<button class="main" name="action" value="allow">Allow</button>` : undefined}
<button name="action" value="deny">Do not allow</button>
<button class="quiet" name="action" value="switch">Use another account</button>
</form>`,
  };
}

const identityMeanings: Readonly<Record<IdentityScope, string>> = {
  openid: 'See your username',
  profile: 'See your first and last name',
  email: 'See your e-mail address',
};

/** Asks whether to log out. `proof` is the provider's. */
export const logoutPage = ({ action, proof, client }: { readonly action: string; readonly proof: string; readonly client: string | undefined }): Page => ({
  title: 'Log out?',
  main: html`<h1>Log out of the plant shop?</h1>
${client === undefined ? undefined : html`<p><strong>${client}</strong> asks you to log out. Its access ends in either case.</p>\n`}<form method="post" action="${action}">
<input type="hidden" name="xsrf" value="${proof}">
<button class="main" name="logout" value="yes">Log out</button>
<button name="logout" value="">Stay logged in</button>
</form>`,
});

export const messagePage = (title: string, text: string): Page => ({
  title,
  main: html`<h1>${title}</h1>
<p>${text}</p>`,
});

/** Renders an error that cannot be returned to the application: HTML for browsers, JSON for programs. */
export function renderError(ctx: PageContext, out: ErrorOut, error: Error): void {
  if (ctx.accepts('json', 'html') !== 'html') {
    ctx.body = out;
    return;
  }
  const isTemporary = error instanceof CodedError;
  sendPage(
    ctx,
    isTemporary
      ? messagePage('Please try again later', 'The shop is temporarily unavailable. Try again in a moment.')
      : messagePage(
          'Invalid request',
          `The application sent an invalid request (${out.error}: ${out.error_description ?? 'no details'}). Go back to it and try again.`,
        ),
  );
}
