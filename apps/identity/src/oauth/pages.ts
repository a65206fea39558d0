import { createHash } from 'node:crypto';
import { type Permission, permissionMeanings } from '@plant-shop/contracts/permissions';
import { CodedError } from '@plant-shop/platform/errors';
import type { ErrorOut } from 'oidc-provider';
import type { PageContext } from './form.js';
import { Html, html } from './html.js';

// Pages for people on their way to an application: plain HTML that needs no script, in one column, with the one style
// sheet below.

const style = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { max-width: 28rem; margin: 3rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; }
label, input, button { display: block; font: inherit; }
input { box-sizing: border-box; width: 100%; margin: 0.25rem 0 1rem; padding: 0.5rem; border: 1px solid; border-radius: 0.25rem; }
button { width: 100%; margin: 0.5rem 0; padding: 0.6rem; border: 1px solid; border-radius: 0.25rem; cursor: pointer; }
.main { background: #14532d; color: #fff; }
.error { border-left: 0.3rem solid #b91c1c; padding-left: 0.75rem; }
`;
const styleHash = createHash('sha256').update(style).digest('base64');

export interface Page {
  readonly title: string;
  readonly main: Html;
  /** Where the answer to a form of the page may lead, beside this origin. */
  readonly leadsTo?: string;
}

export function sendPage(ctx: PageContext, { title, main, leadsTo }: Page): void {
  ctx.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': [
      "default-src 'none'",
      `style-src 'sha256-${styleHash}'`,
      `form-action ${leadsTo === undefined ? "'self'" : `'self' ${schemeOf(leadsTo)}`}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    // With less than that, browsers would not say in a form's request which origin it comes from.
    'Referrer-Policy': 'same-origin',
  });
  ctx.type = 'html';
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Plant shop</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
${main}
</main>
</body>
</html>
`;
  ctx.body = page.text;
}

/**
 * Browsers hold the redirects that follow a form against its page's policy, also those that the application makes after
 * ours: its origin alone would be too little.
 */
const schemeOf = (address: string): string => new URL(address).protocol;

interface Step {
  readonly action: string;
  /** Proof that the form is from a page of ours. */
  readonly proof: string;
  readonly client: string;
  readonly redirectUri: string;
}

const hidden = (proof: string): Html => html`<input type="hidden" name="proof" value="${proof}">`;

export interface LoginStep extends Step {
  readonly username?: string;
  readonly error?: string;
}

export function loginPage({ action, proof, client, redirectUri, username, error }: LoginStep): Page {
  const fault = error === undefined ? undefined : html`<p class="error" id="error" role="alert">${error}</p>`;
  const faulty = error === undefined ? undefined : html` aria-describedby="error" aria-invalid="true"`;
  return {
    title: error === undefined ? 'Log in' : 'Error: Log in',
    leadsTo: redirectUri,
    main: html`<h1>Log in to the plant shop</h1>
<p>to go on to <strong>${client}</strong></p>
${fault}
<form method="post" action="${action}">
${hidden(proof)}
<label for="username">Username</label>
<input id="username" name="username" type="text" value="${username}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="64" required autofocus${faulty}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required${faulty}>
<button class="main" name="action" value="login">Log in</button>
</form>
<form method="post" action="${action}">
${hidden(proof)}
<button name="action" value="deny">Back without logging in</button>
</form>`,
  };
}

export interface ConsentStep extends Step {
  readonly username: string;
  /** What the application asks for and the user may do. */
  readonly allowed: readonly Permission[];
  /** What it asks for beyond that. */
  readonly beyond: readonly Permission[];
  readonly learnsWho: boolean;
  /** Stands for all of this in the form: it allows what the page shows. */
  readonly shown: string;
}

export function consentPage(step: ConsentStep): Page {
  const { action, proof, client, redirectUri, username, allowed, beyond, learnsWho, shown } = step;
  const entries = (names: readonly Permission[]): Html[] => names.map((one) => html`<li>${permissionMeanings[one]}</li>\n`);
  const asked = [...(learnsWho ? [html`<li>Know which account is yours</li>\n`] : []), ...entries(allowed)];
  const lacking =
    beyond.length === 0
      ? undefined
      : html`<h2>Not given</h2>
<p>It also asks for this, which your account may not do:</p>
<ul>
${entries(beyond)}</ul>`;
  return {
    title: `Allow ${client}?`,
    leadsTo: redirectUri,
    main: html`<h1>Allow <strong>${client}</strong> to act for you?</h1>
<p>You are logged in as <strong>${username}</strong>. Afterwards you go on to <strong>${new URL(redirectUri).host}</strong>.</p>
<p>It asks to:</p>
<ul>
${asked.length > 0 ? asked : html`<li>nothing that your account may do</li>\n`}</ul>
${lacking}
<form method="post" action="${action}">
${hidden(proof)}
<input type="hidden" name="shown" value="${shown}">
${asked.length > 0 ? html`<button class="main" name="action" value="allow">Allow</button>` : undefined}
<button name="action" value="deny">Do not allow</button>
<button name="action" value="switch">Log in as somebody else</button>
</form>`,
  };
}

export const faultPage = (title: string, text: string): Page => ({
  title,
  main: html`<h1>${title}</h1>
<p>${text}</p>`,
});

/** What cannot be sent back to the application: as a page to people, as JSON to programs. */
export function renderError(ctx: PageContext, out: ErrorOut, error: Error): void {
  if (ctx.accepts('json', 'html') !== 'html') {
    ctx.body = out;
    return;
  }
  const isAway = error instanceof CodedError;
  sendPage(
    ctx,
    isAway
      ? faultPage('Not now', 'The shop cannot answer at the moment. Try again in a moment.')
      : faultPage(
          'This did not work',
          `The application sent you here in a way that cannot be answered (${out.error}: ${out.error_description ?? 'no details'}). Go back to it and try again.`,
        ),
  );
}
