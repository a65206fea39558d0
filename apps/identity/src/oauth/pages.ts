import { type Permission, permissionMeanings } from '@plant-shop/contracts/permissions';
import { CodedError } from '@plant-shop/platform/errors';
import { type Html, html } from '@plant-shop/platform/html/html';
import { pagePolicy, pageText } from '@plant-shop/contracts/page';
import { errors, type ErrorOut, type Provider } from 'oidc-provider';
import type { PageContext } from './form-guard.js';
import { accountPath, type IdentityScope } from './oauth-client.js';
import { pageScript } from './page-script.js';

export interface Page {
  readonly title: string;
  readonly main: Html;
  /** Redirect URI that submitting a form may lead to; the page's policy must allow it. */
  readonly redirectUri?: string;
  /** Default: `card`. */
  readonly layout?: 'card' | 'document';
}

/** Pages that identity serves itself. */
export interface HostedPages {
  serveOn(provider: Provider): void;
}

/** All of them, in the order in which they see a request. */
export const HOSTED_PAGES = Symbol('hosted pages');

export function sendPage(ctx: PageContext, { title, main, redirectUri, layout = 'card' }: Page): void {
  // "Back" to an answer to a form would be an error of the browser. Where the page itself says what it loads as, that counts.
  const loadsAgain = ctx.method === 'POST' && ctx.state['showsAgain'] === true;
  const script = pageScript(addressOf(ctx));
  ctx.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': pagePolicy(redirectUri === undefined ? "'self'" : `'self' ${schemeOf(redirectUri)}`, script.url),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    // With a stricter policy, browsers would not send the Origin header with a form.
    'Referrer-Policy': 'same-origin',
  });
  ctx.type = 'html';
  ctx.body = pageText({ title, layout, main: loadsAgain ? html`<span data-loads-as="${ctx.path}"></span>${main}` : main, script });
}

/** Returns PUBLIC_URL. */
const addressOf = ({ protocol, host }: PageContext): string => `${protocol}://${host}`;

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

const dayForm = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** A time; the script shows it in the reader's zone. */
export const time = (at: Date): Html => html`<time datetime="${at.toISOString()}">${dayForm.format(at)} UTC</time>`;

export const hidden = (proof: string): Html => html`<input type="hidden" name="proof" value="${proof}">`;

/** Copies the text of an element. The script shows it. */
export const copyButton = (id: string): Html => html`<button type="button" data-copies="${id}" aria-live="polite" hidden>Copy</button>`;

/** What a form says about an error, above its fields. @param hasFocus so that a long page opens at it */
export const alertOf = (error: string | undefined, hasFocus = false): Html | undefined =>
  error === undefined ? undefined : html`<p class="error" id="error" role="alert"${hasFocus ? html` tabindex="-1" autofocus` : undefined}>${error}</p>`;

/** Attributes of the fields of a form after an error. */
export const invalidAfter = (error: string | undefined): Html | undefined =>
  error === undefined ? undefined : html` aria-describedby="error" aria-invalid="true"`;

/** Where to ask for a link that replaces a forgotten password. */
export const recoveryPath = '/account/recovery';

export interface LoginView extends InteractionView {
  /** Whether browsers can use passkeys here. */
  readonly passkeys: boolean;
  readonly username?: string;
  readonly error?: string;
}

export function loginPage({ action, proof, client, redirectUri, passkeys, username, error }: LoginView): Page {
  const invalid = invalidAfter(error);
  return {
    title: error === undefined ? 'Log in' : 'Error: Log in',
    redirectUri: redirectUri,
    main: html`<h1>Log in to the plant shop</h1>
<p class="dimmed">to continue to <strong>${client}</strong></p>
${alertOf(error)}
<form method="post" action="${action}">
${hidden(proof)}
<label for="username">Username</label>
<input id="username" name="username" type="text" value="${username}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="64" required autofocus${invalid}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${invalid}>
<button class="main" name="action" value="login">Log in</button>
</form>
<form method="post" action="${action}">
${hidden(proof)}
<button name="action" value="deny">Cancel</button>
</form>
<ul>
${passkeys ? html`<li><a href="${action}/passkey">Log in with a passkey</a></li>\n` : undefined}<li><a href="${action}/sign-up">Create an account</a></li>
<li><a href="${recoveryPath}">Forgot your password?</a></li>
</ul>`,
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
  /** What the tools do that an agent gets. Absent: the application is none. */
  readonly agent?: { readonly reads: readonly string[]; readonly changes: readonly string[] };
  /** Digest of the page; the form sends it back, so that only what was shown is allowed. */
  readonly digest: string;
}

export function consentPage(view: ConsentView): Page {
  const { action, proof, client, redirectUri, username, allowed, notPermitted, identity, agent, digest } = view;
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
${agent && agentText(agent)}${lacking}
<form method="post" action="${action}">
${hidden(proof)}
<input type="hidden" name="shown" value="${digest}">
${granted.length > 0 ? html`<button class="main" name="action" value="allow">Allow</button>` : undefined}
<button name="action" value="deny">Do not allow</button>
<button class="quiet" name="action" value="switch">Use another account</button>
</form>`,
  };
}

/** Says in words what an agent does with these permissions. */
const agentText = ({ reads, changes }: NonNullable<ConsentView['agent']>): Html => html`<h2>It is an agent</h2>
<p>It decides itself when to use these tools, and texts that it reads can mislead it.</p>
<p>It can read:</p>
<ul>
${reads.map((one) => html`<li>${one}</li>\n`)}</ul>
${changes.length === 0 ? html`<p>It can change nothing.</p>` : html`<p>It can change things, without asking you each time:</p>
<ul>
${changes.map((one) => html`<li>${one}</li>\n`)}</ul>`}
`;

export const identityMeanings: Readonly<Record<IdentityScope, string>> = {
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

export const messagePage = (title: string, text: string | Html): Page => ({
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

/** Returns what a form says about an error: which fields are wrong, or what happened. */
export function textOfErrors(error: CodedError): string {
  const { errors: fields = [] } = error.details;
  const sentences = fields.map((one) => `${('pointer' in one && fieldNames[one.pointer.slice(one.pointer.lastIndexOf('/') + 1)]) || 'The form'} ${one.detail}.`);
  return sentences.length > 0 ? sentences.join(' ') : error.message;
}

const fieldNames: Readonly<Partial<Record<string, string>>> = { username: 'The username', name: 'The name', email: 'The e-mail address', password: 'The password', factor: 'The second factor' };

/** Refuses a form that is not from a page of the shop, or not for its present state. @param next what to do */
export function refuseForm(ctx: PageContext, next = 'Go back to the application and start again.'): void {
  ctx.status = 403;
  // Names the address: people open a shop of this machine by another one, too.
  sendPage(ctx, messagePage('Request refused', `The form was not sent from a page of ${addressOf(ctx)}. ${next}`));
}

const statuses: Readonly<Partial<Record<string, number>>> = {
  ...{ 'invalid-input': 400, forbidden: 403, 'recent-login-required': 403, 'username-taken': 409, 'last-admin': 409, 'user-has-open-orders': 409, 'too-many-api-keys': 409, 'email-not-mailable': 409 },
  ...{ 'too-many-logins': 429, 'too-many-mails': 429, 'too-many-requests': 429 },
};

export function refuseLogIn(ctx: PageContext): void {
  ctx.status = 401;
  ctx.set('WWW-Authenticate', 'Bearer realm="plant-shop"');
}

export function setErrorStatus(ctx: PageContext, error: CodedError): void {
  const { retryAfter } = error.details;
  if (error.code === 'login-failed') {
    refuseLogIn(ctx);
    return;
  }
  ctx.status = statuses[error.code] ?? 503;
  if ([429, 503].includes(ctx.status)) ctx.set('Retry-After', String(typeof retryAfter === 'number' ? retryAfter : 1));
}

/**
 * Serves pages at these paths. Failures become pages, too.
 * @param options `showsAgain`: an answer to a form may be loaded again as the page of the form
 */
export function servePages(provider: Provider, matches: (path: string) => boolean, serve: (ctx: PageContext) => Promise<void>, { showsAgain = false } = {}): void {
  provider.use(async (ctx, next) => {
    if (!matches(ctx.path) || !['GET', 'HEAD', 'POST'].includes(ctx.method)) {
      await next();
      return;
    }
    ctx.state['showsAgain'] = showsAgain;
    try {
      await serve(ctx);
    } catch (error) {
      sendFailure(provider, ctx, error as Error);
    }
  });
}

function sendFailure(provider: Provider, ctx: PageContext, error: Error): void {
  // The interaction or the login has ended, or the client was deleted.
  if (error instanceof errors.OIDCProviderError) {
    ctx.status = 400;
    sendPage(ctx, messagePage('This page has expired', html`<span data-passed-back></span>Go back to the application and start again, or open <a href="${accountPath}">your account</a>.`));
    return;
  }
  ctx.status = 500;
  if (error instanceof CodedError) setErrorStatus(ctx, error);
  else provider.emit('server_error', ctx, error);
  const text = error instanceof CodedError ? error.message : 'An error occurred. Go back to the application and try again.';
  sendPage(ctx, messagePage(ctx.status === 400 ? 'The form was refused' : 'Please try again later', text));
}
