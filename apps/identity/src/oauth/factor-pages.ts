import { type Html, Html as Raw, html } from '@plant-shop/platform/html/html';
import type { PublicKeyCredentialCreationOptionsJSON, PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { totpPicture } from '../factors/codes.js';
import type { FactorRecord } from '../factors/factors.repository.js';
import { maxFactorName } from '../factors/factors.service.js';
import { accountPath } from './oauth-client.js';
import { alertOf, copyButton, hidden, invalidAfter, type Page, time } from './pages.js';

// Pages about second factors: steps of a log-in, and the list of a user's own.

/** What all forms of a page have. */
export interface FormView {
  readonly action: string;
  readonly proof: string;
  readonly error?: string | undefined;
}

export const wrongPassword = 'The password is wrong.';
export const wrongCode = 'The code is wrong, or was used before. Type the next code of your app, or another recovery code.';
export const wrongPasskey = 'The passkey was refused. Try again within five minutes, or choose another way. Your browser must run scripts for it.';

/** Why a factor was not added, by the form's action. */
export const refusedFactor = (action: string | undefined): string => (action === 'add-app' ? 'The code is wrong. Type the one that the app shows now.' : wrongPasskey);

const titleOf = (title: string, error: string | undefined): string => (error === undefined ? title : `Error: ${title}`);

/** Attributes of a form whose script asks for a passkey. */
export const passkeyAttributes = (kind: 'create' | 'get', options: PublicKeyCredentialCreationOptionsJSON | PublicKeyCredentialRequestOptionsJSON): Html =>
  html` data-passkey="${kind}" data-options="${JSON.stringify(options)}"`;

/** What such a form contains: the passkey, and what went wrong. */
export const passkeyFields = html`<input type="hidden" name="credential" value="">
<p class="error" role="alert" hidden></p>`;

/** Without the script it sends an empty passkey, which is refused with an explanation. */
const passkeyForm = (
  { action, proof }: FormView,
  kind: 'create' | 'get',
  options: PublicKeyCredentialCreationOptionsJSON | PublicKeyCredentialRequestOptionsJSON,
  { name, fields, button }: { readonly name: string; readonly fields?: Html; readonly button: Html },
): Html => html`<form method="post" action="${action}"${passkeyAttributes(kind, options)}>
${hidden(proof)}
<input type="hidden" name="action" value="${name}">
${passkeyFields}
${fields}
${button}
</form>`;

const codeForm = ({ action, proof, error }: FormView, autofocus: boolean): Html => html`<form method="post" action="${action}">
${hidden(proof)}
<label for="code">Code of your app, or a recovery code</label>
<input id="code" name="code" type="text" inputmode="text" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" maxlength="40" required${autofocus ? html` autofocus` : undefined}${invalidAfter(error)}>
<button class="main" name="action" value="code">Continue</button>
</form>`;

const nameField = (id: string, value: string): Html => html`<label for="${id}">Name, to recognise it</label>
<input id="${id}" name="name" type="text" value="${value}" maxlength="${String(maxFactorName)}" autocomplete="off" required>`;

/** Logs in by a passkey alone. */
export const passkeyPage = (view: FormView & { readonly back: string; readonly redirectUri: string; readonly options: PublicKeyCredentialRequestOptionsJSON }): Page => ({
  title: titleOf('Log in with a passkey', view.error),
  redirectUri: view.redirectUri,
  main: html`<h1>Log in with a passkey</h1>
${alertOf(view.error)}
${passkeyForm(view, 'get', view.options, { name: 'passkey', button: html`<button class="main" autofocus>Use a passkey</button>` })}
<p><a href="${view.back}">Log in with the password</a></p>`,
});

export interface FactorView extends FormView {
  readonly username: string;
  /** Of the user's passkeys; undefined if there is none that can be used. */
  readonly options: PublicKeyCredentialRequestOptionsJSON | undefined;
}

const secondFactorForms = (view: FactorView): Html => html`${alertOf(view.error, view.options !== undefined)}
${view.options && passkeyForm(view, 'get', view.options, { name: 'passkey', button: html`<button class="main" autofocus>Use a passkey</button>` })}
${view.options && html`<h2>Or</h2>`}
${codeForm(view, view.options === undefined)}`;

/** Asks for the second factor, after the password. */
export const factorPage = (view: FactorView & { readonly back: string; readonly redirectUri: string }): Page => ({
  title: titleOf('Your second factor', view.error),
  redirectUri: view.redirectUri,
  main: html`<h1>Your second factor</h1>
<p class="dimmed">to log in as <strong>${view.username}</strong></p>
${secondFactorForms(view)}
<p class="dimmed">You lost your device? Use a recovery code. Without one, only the shop can help you.</p>
<p><a href="${view.back}">Use another account</a></p>`,
});

export interface EnrolmentView extends FormView {
  readonly username: string;
  /** Undefined if browsers cannot make passkeys here. */
  readonly options: PublicKeyCredentialCreationOptionsJSON | undefined;
  /** Undefined if the user has an app. */
  readonly app: { readonly secret: string; readonly sealed: string } | undefined;
  /** Of the app, as typed with a code that was wrong. */
  readonly appName?: string | undefined;
}

/** The error of an enrolment, at the top unless it is about the app's code. */
const enrolmentAlert = ({ error, appName }: EnrolmentView): Html | undefined => (appName === undefined ? alertOf(error, true) : undefined);

function enrolmentForms(view: EnrolmentView): Html {
  const { action, proof, username, options, app, appName, error } = view;
  const passkey = options && html`<h2>Passkey</h2>
<p>Your device, a security key or a password manager proves who you are. Nobody can copy what you type.</p>
${passkeyForm(view, 'create', options, { name: 'add-passkey', fields: nameField('passkey-name', 'Passkey'), button: html`<button class="main">Add a passkey</button>` })}`;
  if (!app) return html`${passkey}`;
  const { svg, typed } = totpPicture(app.secret, username);
  return html`${passkey}
<h2>Authenticator app</h2>
<p>Scan this picture with an app for one-time passwords, or type the key into it. Then type the code that it shows.</p>
${new Raw(svg.replace('<svg', '<svg class="qr" role="img" aria-label="QR code for the app"'))}
<p>Key: <code>${typed}</code></p>
<form method="post" action="${action}">
${hidden(proof)}
<input type="hidden" name="app" value="${app.sealed}">
${nameField('app-name', appName ?? 'Authenticator app')}
${appName === undefined ? undefined : alertOf(error)}
<label for="code">Code of six digits</label>
<input id="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="10" required${appName === undefined ? undefined : html` autofocus`}${invalidAfter(error)}>
<button class="main" name="action" value="add-app">Add the app</button>
</form>`;
}

/** Lets a user who needs a second factor add the first one, before the log-in ends. */
export const enrolmentPage = (view: EnrolmentView & { readonly redirectUri: string }): Page => ({
  title: titleOf('Add a second factor', view.error),
  redirectUri: view.redirectUri,
  main: html`<h1>Add a second factor</h1>
<p class="dimmed">to log in as <strong>${view.username}</strong></p>
<p>Your account needs more than a password to log in.</p>
${enrolmentAlert(view)}
${enrolmentForms(view)}
<form method="post" action="${view.action}">
${hidden(view.proof)}
<button name="action" value="deny">Cancel</button>
</form>`,
});

/** Shows new recovery codes, once. @param next how to go on */
export const codesPage = (codes: readonly string[] | undefined, next: Html, redirectUri?: string): Page => ({
  title: 'Your recovery codes',
  ...(redirectUri !== undefined && { redirectUri }),
  main: codes === undefined
    ? html`<h1>Your recovery codes</h1>
<p>They were shown once. If you did not write them down, make new ones among your second factors.</p>
${next}`
    : html`<h1>Your recovery codes</h1>
<p>Write them down, and keep them away from your device. Each works once instead of your second factor. They are not shown again.</p>
<ul class="codes" id="codes">
${codes.map((one) => html`<li><code>${one}</code></li>\n`)}</ul>
${copyButton('codes')}
<p><a href="data:text/plain,${encodeURIComponent(`${codes.join('\n')}\n`)}" download="plant-shop-recovery-codes.txt">Download them as a text file</a></p>
${next}`,
});

export const continueForm = ({ action, proof }: FormView): Html => html`<form method="post" action="${action}">
${hidden(proof)}
<button class="main" name="action" value="continue" autofocus>I have written them down</button>
</form>`;

/** The own factors of a user who is logged in with this browser. */
export interface OwnFactorsView extends EnrolmentView {
  readonly factors: readonly FactorRecord[];
  readonly codesLeft: number;
}

const entryOf = ({ action, proof }: FormView, { id, kind, name, createdAt, lastUsedAt, lockedAt }: FactorRecord, mayChange: boolean): Html => html`<li>
<strong>${name}</strong> (${kind === 'passkey' ? 'passkey' : 'authenticator app'}), added ${time(createdAt)}${lastUsedAt ? html`, used ${time(lastUsedAt)}` : undefined}
${lockedAt ? html`<p class="error">Locked: someone has a copy of it. Remove it.</p>` : undefined}
${mayChange ? html`<form method="post" action="${action}">
${hidden(proof)}
<input type="hidden" name="factor" value="${id}">
<button name="action" value="remove" aria-label="Remove ${name}">Remove</button>
</form>` : undefined}
</li>\n`;

const listOf = (view: Pick<OwnFactorsView, 'action' | 'proof' | 'factors'>, mayChange: boolean): Html =>
  view.factors.length === 0 ? html`<p>You have none. Whoever knows your password can log in.</p>` : html`<ul>
${view.factors.map((one) => entryOf(view, one, mayChange))}</ul>`;

export const ownFactorsPage = (view: OwnFactorsView): Page => ({
  title: titleOf('Your second factors', view.error),
  main: html`<h1>Your second factors</h1>
<p class="dimmed">of <strong>${view.username}</strong></p>
${enrolmentAlert(view)}
${listOf(view, true)}
${view.factors.length === 0 ? undefined : html`<h2>Recovery codes</h2>
<p>${String(view.codesLeft)} are left. New ones replace them.</p>
<form method="post" action="${view.action}">
${hidden(view.proof)}
<button name="action" value="new-codes">Make new recovery codes</button>
</form>`}
${enrolmentForms(view)}
${backToAccount}`,
});

const backToAccount = html`<p><a href="${accountPath}">Back to your account</a></p>`;

/** Asks again who the user is, before changes. */
export const confirmPage = (view: FactorView & { readonly hasFactor: boolean; readonly factors: readonly FactorRecord[] }): Page => ({
  title: titleOf('Your second factors', view.error),
  main: html`<h1>Your second factors</h1>
<p class="dimmed">of <strong>${view.username}</strong></p>
${listOf(view, false)}
<h2>To change them, show that it is you</h2>
${view.hasFactor ? secondFactorForms(view) : html`${alertOf(view.error)}
<form method="post" action="${view.action}">
${hidden(view.proof)}
<input type="hidden" name="username" value="${view.username}" autocomplete="username">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus${invalidAfter(view.error)}>
<button class="main" name="action" value="password">Continue</button>
</form>`}
${backToAccount}`,
});
