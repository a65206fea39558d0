import { createHash } from 'node:crypto';
import type { PageParts } from '@plant-shop/contracts/page';
import type { Provider } from 'oidc-provider';

/** The only one that all releases of the gateway forward. */
const path = '/oauth/passkey.js';

/**
 * Shows times in the reader's zone. Makes a page that answers a form load as another one again: it has what is shown only once, and is copied by a
 * button. "Back" passes a page that has expired. Lets a form be sent once until its answer comes. Fills the field `credential` of a form with a passkey that the user makes or uses, and
 * sends the form, unless a code is typed into its field `factor`. The server checks everything.
 */
const script = `'use strict';
const dayForm = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
for (const time of document.querySelectorAll('time')) time.textContent = dayForm.format(new Date(time.dateTime));
for (const { dataset } of document.querySelectorAll('[data-loads-as]')) history.replaceState(null, '', dataset.loadsAs);
if (document.querySelector('[data-passed-back]') && performance.getEntriesByType('navigation')[0]?.type === 'back_forward') history.back();
for (const button of document.querySelectorAll('[data-copies]')) {
  const source = document.getElementById(button.dataset.copies);
  // Browsers have it only with TLS, or on the same machine.
  button.hidden = !navigator.clipboard;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.innerText);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = 'Not copied: copy what is selected';
    }
  });
}

const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const withIds = (list = []) => list.map((one) => ({ ...one, id: bytes(one.id) }));

async function ask(kind, options) {
  const publicKey = { ...options, challenge: bytes(options.challenge) };
  if (kind === 'create') {
    const user = { ...options.user, id: bytes(options.user.id) };
    return navigator.credentials.create({ publicKey: { ...publicKey, user, excludeCredentials: withIds(options.excludeCredentials) } });
  }
  return navigator.credentials.get({ publicKey: { ...publicKey, allowCredentials: withIds(options.allowCredentials) } });
}

function answerOf(credential) {
  const { response } = credential;
  const answer = { transports: response.getTransports?.() };
  for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']) {
    if (response[name]) answer[name] = text(response[name]);
  }
  return JSON.stringify({
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: answer,
  });
}

// An answer may leave the page as it is: a download, or one that opens another application.
const answerMs = 15_000;
const release = (form) => form.removeAttribute('aria-busy');

async function send(form, submitter) {
  const failure = form.querySelector('[role=alert]:not([id])');
  failure.hidden = true;
  try {
    form.elements.namedItem('credential').value = answerOf(await ask(form.dataset.passkey, JSON.parse(form.dataset.options)));
    // Without it, the form would not say which button was pressed.
    const pressed = Object.assign(document.createElement('input'), { type: 'hidden', name: submitter?.name ?? '', value: submitter?.value ?? '' });
    form.append(pressed);
    form.submit();
    pressed.remove();
    setTimeout(release, answerMs, form);
  } catch (error) {
    release(form);
    failure.textContent = error.name === 'InvalidStateError' ? 'This device has a passkey for the account already.' : 'No passkey was used. Try again, or choose another way.';
    failure.hidden = false;
  }
}

document.addEventListener('submit', (event) => {
  const { target: form, submitter } = event;
  const isBusy = form.hasAttribute('aria-busy');
  const needsPasskey = form.dataset.passkey !== undefined && !form.elements.namedItem('factor')?.value;
  if (isBusy || needsPasskey) event.preventDefault();
  if (isBusy) return;
  form.setAttribute('aria-busy', 'true');
  if (needsPasskey) send(form, submitter);
  else setTimeout(release, answerMs, form);
});
// Back shows the page as it was left.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) document.querySelectorAll('form').forEach(release);
});
`;

const integrity = `sha256-${createHash('sha256').update(script).digest('base64')}`;

/** Returns the script of all pages. Without it they work, but for passkeys. */
export const pageScript = (publicUrl: string): NonNullable<PageParts['script']> => ({ url: `${publicUrl}${path}`, integrity });

export function servePageScriptOn(provider: Provider): void {
  provider.use(async (ctx, next) => {
    if (ctx.path !== path || !['GET', 'HEAD'].includes(ctx.method)) {
      await next();
      return;
    }
    // Pages name its hash, so a copy of another release would not run.
    ctx.set({ 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff' });
    ctx.type = 'text/javascript; charset=utf-8';
    ctx.body = script;
  });
}
