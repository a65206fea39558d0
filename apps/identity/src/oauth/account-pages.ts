import { type Html, html } from '@plant-shop/platform/html/html';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { passkeyAttributes, passkeyFields } from './factor-pages.js';
import { accountPath } from './oauth-client.js';
import { alertOf, hidden, type InteractionView, invalidAfter, messagePage, type Page, recoveryPath } from './pages.js';

// Pages about an account: to create one, to verify its address, and to replace a forgotten password.

export interface SignUpView extends InteractionView {
  readonly username?: string;
  readonly email?: string;
  readonly error?: string;
}

export const signUpPage = ({ action, proof, client, redirectUri, username, email, error }: SignUpView): Page => ({
  title: error === undefined ? 'Create an account' : 'Error: Create an account',
  redirectUri,
  main: html`<h1>Create an account</h1>
<p class="dimmed">to continue to <strong>${client}</strong></p>
${alertOf(error)}
<form method="post" action="${action}/sign-up">
${hidden(proof)}
<label for="username">Username</label>
<input id="username" name="username" type="text" value="${username}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="64" required autofocus${invalidAfter(error)}>
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" value="${email}" autocomplete="email" maxlength="200" required${invalidAfter(error)}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required${invalidAfter(error)}>
<button class="main" name="action" value="sign-up">Create the account</button>
</form>
<p class="dimmed">You have an account? <a href="${action}">Log in</a></p>`,
});

export const askForRecoveryPage = ({ proof, error }: { readonly proof: string; readonly error?: string }): Page => ({
  title: error === undefined ? 'Forgot your password?' : 'Error: Forgot your password?',
  main: html`<h1>Forgot your password?</h1>
<p>You get a mail with a link, if your account has a verified e-mail address.</p>
${alertOf(error)}
<form method="post" action="${recoveryPath}">
${hidden(proof)}
<label for="account">Username or e-mail address</label>
<input id="account" name="account" type="text" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="200" required autofocus${invalidAfter(error)}>
<button class="main" name="action" value="send">Send a link</button>
</form>`,
});

export const recoverySentPage = messagePage(
  'Look for our mail',
  'If there is such an account with a verified e-mail address, a link was sent to it. The link works for 15 minutes. No mail? Look among unwanted mail, ' +
    'and check what you typed. If your address was never verified, only the shop can help you.',
);

interface LinkView {
  readonly proof: string;
  readonly code: string;
  readonly action: string;
  readonly username: string;
}

/** After an error, the page loads as that of the link again. */
const codeField = ({ code, action }: Pick<LinkView, 'code' | 'action'>): Html => html`<input type="hidden" name="code" value="${code}" data-loads-as="${action}?code=${encodeURIComponent(code)}">`;

export interface NewPasswordView extends LinkView {
  readonly error?: string;
  readonly hasFactor: boolean;
  /** Of the user's passkeys; undefined if there is none that can be used. */
  readonly options: PublicKeyCredentialRequestOptionsJSON | undefined;
}

export const newPasswordPage = ({ proof, code, action, username, error, hasFactor, options }: NewPasswordView): Page => ({
  title: error === undefined ? 'Set a new password' : 'Error: Set a new password',
  main: html`<h1>Set a new password</h1>
<p>You will be logged out everywhere, and applications lose their access.</p>
${alertOf(error)}
<form method="post" action="${action}"${options && passkeyAttributes('get', options)}>
${hidden(proof)}
${codeField({ code, action })}
<label for="username">Username</label>
<input id="username" name="username" type="text" value="${username}" autocomplete="username" readonly>
<label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required autofocus${invalidAfter(error)}>
${hasFactor ? html`<label for="factor">Code of your app, or a recovery code</label>
<input id="factor" name="factor" type="text" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" maxlength="40"${options ? html` aria-describedby="factor-help"` : html` required`}>
${options && html`<p id="factor-help">Leave it empty to use a passkey.</p>
${passkeyFields}`}` : undefined}
<p>Your API keys continue to work, unless you end them. End them if someone else may know your password.</p>
<button class="main" name="action" value="set">Set the password</button>
<button name="action" value="set-and-end-keys">Set the password and end my API keys</button>
</form>`,
});

export const passwordSetPage = (username: string): Page => ({
  title: 'The password is set',
  main: html`<h1>The password is set</h1>
<p data-loads-as="${accountPath}">Go back to the application, or to <a href="${accountPath}">your account</a>, and log in as <strong>${username}</strong> with the new password.</p>`,
});

export const verifyPage = ({ proof, code, action, username, email }: LinkView & { readonly email: string }): Page => ({
  title: 'Verify your e-mail address',
  main: html`<h1>Verify your e-mail address</h1>
<p>Is <strong>${email}</strong> your address, and <strong>${username}</strong> your account?</p>
<form method="post" action="${action}">
${hidden(proof)}
${codeField({ code, action })}
<button class="main" name="action" value="verify" autofocus>Yes, verify the address</button>
</form>
<p class="dimmed">If not, close this page: then nothing happens.</p>`,
});

export const verifiedPage = (email: string): Page => ({
  title: 'The address is verified',
  main: html`<h1>The address is verified</h1>
<p data-loads-as="${accountPath}"><strong>${email}</strong> is verified. You can close this page.</p>`,
});

/** The same page for every link that does not work, whatever the reason. @param next what to do */
export const deadLinkPage = (next: Html): Page => ({
  title: 'This link does not work',
  main: html`<h1>This link does not work</h1>
<p>It was used, is too old, was not copied as a whole, or a change of the account has ended it. Nothing was changed.</p>
<p>${next}</p>`,
});
