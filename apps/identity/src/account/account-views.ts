import { type Permission, permissionMeanings } from '@plant-shop/contracts/permissions';
import { type Html, html } from '@plant-shop/platform/html/html';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { ApiKeyRecord } from '../api-keys.repository.js';
import { passkeyAttributes, passkeyFields } from '../oauth/factor-pages.js';
import { accountPath, factorsPath } from '../oauth/oauth-client.js';
import { alertOf, copyButton, hidden, identityMeanings, invalidAfter, messagePage, type Page, time } from '../oauth/pages.js';
import { deviceOf } from '../sessions/device.js';
import type { SessionRecord } from '../sessions.repository.js';
import type { UserRecord } from '../users/user.js';
import type { Grant } from './applications.js';

/** The parts of the page that can say that something was refused. */
export type Section = 'factors' | 'sessions' | 'api-keys' | 'applications' | 'password' | 'email' | 'mails' | 'data' | 'deletion';

/** What the page says after a form was accepted, by the name in its address. */
const doneTexts: ReadonlyMap<string, string> = new Map([
  ['session-ended', 'The session has ended.'],
  // The address must differ from that of the form's answer: else the browser would only scroll.
  ['key-made', 'The API key works.'],
  ['key-ended', 'The API key has ended.'],
  ['access-ended', 'The application has lost this access.'],
  ['address-changed', 'The address is stored. Look for a mail with a link that verifies it.'],
  ['mail-sent', 'A mail with a link was sent, unless the address is verified.'],
  ['mails-on', 'You get mails about your orders, once your address is verified.'],
  ['mails-off', 'You get no more mails about your orders.'],
]);

export interface AccountView {
  readonly user: UserRecord;
  /** Proves that identity rendered a form. */
  readonly proof: string;
  /** How sensitive changes ask again who the visitor is; undefined after a recent log-in. */
  readonly again: Again | undefined;
  /** Newest first; some of them, if there are many. */
  readonly sessions: readonly SessionRecord[];
  readonly sessionCount: number;
  /** Id of the session that looks at the page. */
  readonly ownSession: string;
  readonly apiKeys: readonly ApiKeyRecord[];
  /** That a new key may have. */
  readonly permissions: readonly Permission[];
  /** Ends of a new key that are offered. */
  readonly keyEnds: readonly { readonly label: string; readonly at: string }[];
  /** Names the creation of a key, so that a form sent twice creates one. */
  readonly once: string;
  readonly grants: readonly Grant[];
  readonly hasMoreGrants: boolean;
  /** Name in `doneTexts`. */
  readonly done?: string | undefined;
  readonly refused?: Refusal | undefined;
}

interface Again {
  /** Else by the password. */
  readonly hasFactor: boolean;
  /** Of the visitor's passkeys; undefined if none can be used. */
  readonly options: PublicKeyCredentialRequestOptionsJSON | undefined;
}

/** Why a form was refused, and what it contained. */
export interface Refusal {
  readonly section: Section;
  /** Where the section says so: at its top, or in its form of a sensitive change, which may ask who the visitor is. */
  readonly place: 'section' | 'form' | 'proof';
  readonly text: string;
  readonly typed: ReadonlyMap<string, string>;
}

export function accountPage(view: AccountView): Page {
  const { user, done, refused } = view;
  const doneText = doneTexts.get(done ?? '');
  return {
    title: refused ? 'Error: Your account' : 'Your account',
    layout: 'document',
    main: html`<h1>Your account</h1>
<p class="dimmed">You are logged in as <strong>${user.username}</strong>. Your orders are in the <a href="/console">console</a>.</p>
${doneText === undefined ? undefined : html`<p class="done" role="status">${doneText}</p>\n`}${form(view, html`<button name="action" value="log-out">Log out of this browser</button>`)}
${sessionsSection(view)}
${factorsSection(view)}
${passwordSection(view)}
${emailSection(view)}
${mailsSection(view)}
${apiKeysSection(view)}
${applicationsSection(view)}
${dataSection(view)}
${deletionSection(view)}`,
  };
}

const factorsSection = (view: AccountView): Html =>
  section(view, 'factors', 'Second factors', html`<p>With a passkey or an app, your password alone opens your account to nobody.</p>
<p><a href="${factorsPath}">Passkeys, app and recovery codes</a></p>`);

const form = ({ proof }: AccountView, content: Html): Html => html`<form method="post" action="${accountPath}">
${hidden(proof)}
${content}
</form>`;

function section(view: AccountView, id: Section, heading: string, content: Html): Html {
  const { refused } = view;
  return html`<section id="${id}" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${heading}</h2>
${alertOf(refused?.section === id && refused.place === 'section' ? refused.text : undefined, true)}
${content}
</section>`;
}

/** Attributes of a field in the section that was refused. */
const invalidIn = ({ refused }: AccountView, id: Section): Html | undefined => invalidAfter(refused?.section === id && refused.place === 'form' ? refused.text : undefined);

const typedIn = ({ refused }: AccountView, id: Section, name: string): string | undefined => (refused?.section === id ? refused.typed.get(name) : undefined);

/** The form of a sensitive change, which asks again who the visitor is unless the log-in is recent. */
function sensitiveForm(view: AccountView, id: Section, fields: Html, button: Html): Html {
  const { again, proof, refused } = view;
  const refusal = refused?.section === id && refused.place !== 'section' ? refused : undefined;
  // If another page has shown meanwhile who the visitor is, this one does not ask.
  const wrongProof = again && refusal?.place === 'proof' ? refusal.text : undefined;
  const content = html`${alertOf(wrongProof === undefined ? refusal?.text : undefined, true)}
${fields}`;
  if (!again) return form(view, html`${content}\n${button}`);
  const { hasFactor, options } = again;
  const described = [wrongProof === undefined ? [] : 'error', options ? `${id}-factor-help` : []].flat().join(' ');
  const state = html`${described === '' ? undefined : html` aria-describedby="${described}"`}${wrongProof === undefined ? undefined : html` aria-invalid="true" autofocus`}`;
  const isYou = hasFactor
    ? html`<label for="${id}-factor">Code of your app, or a recovery code</label>
<input id="${id}-factor" name="factor" type="text" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" maxlength="40"${options ? undefined : html` required`}${state}>
${options && html`<p id="${id}-factor-help">Leave it empty to use a passkey.</p>
${passkeyFields}`}`
    : html`<label for="${id}-password">Your present password</label>
<input id="${id}-password" name="current-password" type="password" autocomplete="current-password" required${state}>`;
  return html`<form method="post" action="${accountPath}"${options && passkeyAttributes('get', options)}>
${hidden(proof)}
${content}
<p class="dimmed">This change is sensitive: show again that it is you.</p>
${alertOf(wrongProof)}
${isYou}
${button}
</form>`;
}

function sessionsSection(view: AccountView): Html {
  const { sessions, sessionCount, ownSession } = view;
  const entries = sessions.map((one) => {
    const device = deviceOf(one.userAgent);
    const action =
      one.id === ownSession
        ? html`<span class="badge">this browser</span>`
        : form(view, html`<input type="hidden" name="id" value="${one.id}">\n<button name="action" value="end-session" aria-label="End the session of ${device}">End</button>`);
    return html`<li><p><strong>${device}</strong>${one.network === null ? undefined : html`, network ${one.network}`}<br>
<span class="dimmed">Began ${time(one.createdAt)}. ${one.lastUsedAt ? html`Last used ${time(one.lastUsedAt)}.` : html`Not used since.`}</span></p>
${action}</li>
`;
  });
  const rest = sessionCount > sessions.length ? html`<p>These are the newest ${String(sessions.length)} of ${String(sessionCount)}.</p>\n` : undefined;
  return section(view, 'sessions', 'Sessions', html`<p>Where you are logged in. If you do not know one, end it and set a new password. Applications on that device, such as the console, end with it.</p>
<ul class="things">
${entries}</ul>
${rest}${form(view, html`<button name="action" value="end-all">Log out everywhere</button>`)}
<p class="dimmed">This ends this session and the access of applications, too.</p>`);
}

function passwordSection(view: AccountView): Html {
  const fields = html`<input type="hidden" name="username" autocomplete="username" value="${view.user.username}">
<label for="new-password">New password</label>
<input id="new-password" name="password" type="password" autocomplete="new-password" required${invalidIn(view, 'password')}>
<label class="check"><input type="checkbox" name="end-keys" value="yes"${typedIn(view, 'password', 'end-keys') === undefined ? undefined : html` checked`}> End my API keys, too: someone else may know them</label>`;
  return section(view, 'password', 'Password', html`<p>A new password logs you out everywhere and ends the access of applications.</p>
${sensitiveForm(view, 'password', fields, html`<button class="main" name="action" value="set-password">Set the password</button>`)}`);
}

function emailSection(view: AccountView): Html {
  const { email, emailVerifiedAt } = view.user;
  const state =
    email === null || email === ''
      ? html`<p>You have none. Without a verified address, nobody can replace a forgotten password.</p>`
      : html`<p><strong>${email}</strong> <span class="badge">${emailVerifiedAt === null ? 'not verified' : 'verified'}</span></p>`;
  const again =
    email !== null && email !== '' && emailVerifiedAt === null ? form(view, html`<button name="action" value="verify-address">Send the link that verifies it again</button>`) : undefined;
  const fields = html`<label for="new-email">New e-mail address</label>
<input id="new-email" name="email" type="email" value="${typedIn(view, 'email', 'email')}" autocomplete="email" maxlength="200" required${invalidIn(view, 'email')}>`;
  return section(view, 'email', 'E-mail address', html`${state}
${again}
${sensitiveForm(view, 'email', fields, html`<button class="main" name="action" value="set-address">Change the address</button>`)}`);
}

function mailsSection(view: AccountView): Html {
  const { orderMails, emailVerifiedAt } = view.user;
  const state = !orderMails ? 'You get no mails about your orders.' : emailVerifiedAt === null ? 'You get mails about your orders once your address is verified.' : 'You get a mail when an order is placed, paid, shipped or cancelled.';
  const button = orderMails ? html`<button name="action" value="mails-off">Stop mails about orders</button>` : html`<button name="action" value="mails-on">Get mails about orders</button>`;
  return section(view, 'mails', 'Mails about orders', html`<p>${state}</p>
${form(view, button)}`);
}

/** Ends are offered from the time of the page on. */
const isSameEnd = (one: string, other: string): boolean => one === other || Math.abs(Date.parse(one) - Date.parse(other)) < 43_200_000;

function apiKeysSection(view: AccountView): Html {
  const { apiKeys, permissions, keyEnds, once, refused } = view;
  const entries = apiKeys.map(
    (key) => html`<li><p><strong>${key.name}</strong> <code>${key.prefix}…</code><br>
<span class="dimmed">${key.permissions.map((one) => permissionMeanings[one]).join('; ') || 'No permissions'}. Made ${time(key.createdAt)}. ${key.lastUsedAt ? html`Last used ${time(key.lastUsedAt)}.` : html`Never used.`} ${key.expiresAt ? html`Ends ${time(key.expiresAt)}.` : html`Never ends by itself.`}</span></p>
${form(view, html`<input type="hidden" name="id" value="${key.id}">\n<button name="action" value="end-key" aria-label="End the API key ${key.name}">End</button>`)}</li>
`,
  );
  const wasTyped = refused?.section === 'api-keys';
  const checked = (one: Permission): Html | undefined => (wasTyped && refused.typed.has(`may ${one}`) ? html` checked` : undefined);
  const wasChosen = permissions.some((one) => checked(one) !== undefined);
  const chosen = (at: string): Html | undefined => (wasTyped && isSameEnd(refused.typed.get('ends') ?? '', at) ? html` selected` : undefined);
  const fields = html`<input type="hidden" name="once" value="${typedIn(view, 'api-keys', 'once') ?? once}">
<label for="key-name">Name of the new key</label>
<input id="key-name" name="name" type="text" value="${typedIn(view, 'api-keys', 'name')}" required${wasChosen ? invalidIn(view, 'api-keys') : undefined}>
<fieldset${wasChosen ? undefined : invalidIn(view, 'api-keys')}>
<legend>What it may do</legend>
${permissions.map((one) => html`<label class="check"><input type="checkbox" name="may ${one}" value="yes"${checked(one)}> ${permissionMeanings[one]}</label>\n`)}</fieldset>
<label for="key-ends">It ends</label>
<select id="key-ends" name="ends">
${keyEnds.map(({ label, at }) => html`<option value="${at}"${chosen(at)}>${label}</option>\n`)}</select>`;
  return section(view, 'api-keys', 'API keys', html`<p>Programs use them in your name.</p>
${apiKeys.length === 0 ? html`<p>You have none.</p>` : html`<ul class="things">\n${entries}</ul>`}
${sensitiveForm(view, 'api-keys', fields, html`<button class="main" name="action" value="create-key">Make an API key</button>`)}`);
}

function applicationsSection(view: AccountView): Html {
  const { grants, hasMoreGrants } = view;
  const entries = grants.map(({ id, application, permissions, identity, since, until }) => {
    const allowed = [...identity.map((one) => identityMeanings[one]), ...permissions.map((one) => permissionMeanings[one])].join('; ');
    return html`<li><p><strong>${application}</strong><br>
<span class="dimmed">${allowed === '' ? 'Nothing' : allowed}. Since ${time(since)}, until ${time(until)}.</span></p>
${form(view, html`<input type="hidden" name="id" value="${id}">\n<button name="action" value="end-access" aria-label="End the access of ${application}">End</button>`)}</li>
`;
  });
  const rest = hasMoreGrants ? html`<p>These are the newest ${String(grants.length)}; there are more.</p>` : undefined;
  return section(view, 'applications', 'Applications', html`<p>What you have allowed, one entry for each time.</p>
${grants.length === 0 ? html`<p>No application has access.</p>` : html`<ul class="things">\n${entries}</ul>`}
${rest}`);
}

const dataSection = (view: AccountView): Html =>
  section(view, 'data', 'Your data', html`<p>Profile, orders, webhooks, sessions, API keys and applications, as one JSON file without secrets.</p>
${form(view, html`<button name="action" value="download">Download your data</button>`)}`);

function deletionSection(view: AccountView): Html {
  const fields = html`<label for="confirmed">Your username, to confirm</label>
<input id="confirmed" name="confirmed" type="text" value="${typedIn(view, 'deletion', 'confirmed')}" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="64" required${invalidIn(view, 'deletion')}>`;
  return section(view, 'deletion', 'Delete the account', html`<p>It ends your profile, all sessions, API keys and webhooks, the access of applications, and the OAuth clients that act for you. The shop keeps your orders, without your name. Open orders prevent it: cancel them first, or wait for their delivery.</p>
${sensitiveForm(view, 'deletion', fields, html`<button name="action" value="delete">Delete the account permanently</button>`)}`);
}

const keyMade = `${accountPath}?done=key-made#api-keys`;

/** Shows a new key, once. */
export const newKeyPage = ({ name, key }: { readonly name: string; readonly key: string }): Page => ({
  title: 'Your new API key',
  main: html`<h1>Your new API key</h1>
<p>The key <strong>${name}</strong> is:</p>
<p><code id="key">${key}</code></p>
${copyButton('key')}
<p data-loads-as="${accountPath}#api-keys">Copy it now. The shop does not show it again.</p>
<p><a href="${keyMade}">Back to your account</a></p>`,
});

/** Ends the use of the page. @param text why */
export const endPage = (title: string, text: string): Page => {
  const { main } = messagePage(title, text);
  return { title, main: html`${main}\n<p><a href="${accountPath}">Log in to your account</a></p>` };
};

