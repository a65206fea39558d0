import { Browser, type BrowserPage, expectPage } from '@plant-shop/testing/browser';
import type { RawRequest } from '../raw-http.js';
import { gatewayUrl } from '../shop.js';

/** A request with a secret in one place. */
export interface CanaryRequest {
  readonly name: string;
  readonly request: (secret: string, fixture: Fixture) => RawRequest;
  /** The secret is in the path, which a problem's `instance` repeats by design; it may be nowhere else. */
  readonly inPath?: true;
  /** The request goes to the stream. */
  readonly toStream?: true;
}

/** Data in the shop that the requests use. */
export interface Fixture {
  readonly plantId: number;
  readonly username: string;
  readonly password: string;
  readonly session: string;
  readonly fresh: () => string;
  /** Pages with a form, as a browser has them. */
  readonly signUp: OpenForm;
  readonly recovery: OpenForm;
}

export interface OpenForm {
  readonly path: string;
  readonly cookie: string;
  readonly proof: string;
}

/** Opens pages with forms. A sign-up that is refused can be repeated. */
export async function openForms(): Promise<{ readonly signUp: OpenForm; readonly recovery: OpenForm }> {
  const browser = new Browser(gatewayUrl());
  const query = { client_id: 'plant-docs', response_type: 'code', scope: 'read:orders', redirect_uri: `${gatewayUrl()}/docs/oauth2-redirect.html`, code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' };
  const loginPage = expectPage(await browser.open(`/oauth/authorize?${new URLSearchParams(query).toString()}`));
  const formOf = ({ url, forms }: BrowserPage): OpenForm => {
    const { pathname } = new URL(forms[0]?.action ?? '', url);
    return { path: pathname, cookie: browser.cookiesFor(pathname), proof: forms[0]?.fields['proof'] ?? '' };
  };
  return {
    signUp: formOf(expectPage(await browser.open(`${new URL(loginPage.url).pathname}/sign-up`))),
    recovery: formOf(expectPage(await browser.open('/account/recovery'))),
  };
}

type Headers = RawRequest['headers'];

const staff = ['api_key', 'special-key'] as const;
const json = ['content-type', 'application/json'] as const;
const form = ['content-type', 'application/x-www-form-urlencoded'] as const;

const get = (target: string, ...headers: Headers): RawRequest => ({ method: 'GET', target, headers });
const post = (target: string, body: string, ...headers: Headers): RawRequest => ({ method: 'POST', target, headers, body: Buffer.from(body) });
const postJson = (target: string, value: unknown, ...headers: Headers): RawRequest => post(target, JSON.stringify(value), json, ...headers);
const submit = ({ path, cookie, proof }: OpenForm, fields: Record<string, string>): RawRequest =>
  post(path, new URLSearchParams({ ...fields, proof }).toString(), form, ['cookie', cookie]);
const token = (secret: Record<string, string>, ...headers: Headers): RawRequest => post('/oauth/token', new URLSearchParams(secret).toString(), form, ...headers);
const bearer = (secret: string) => ['authorization', `Bearer ${secret}`] as const;
const jwt = (secret: string): string => `${Buffer.from('{"alg":"ES256","typ":"at+jwt"}').toString('base64url')}.${Buffer.from(`{"sub":"${secret}"}`).toString('base64url')}.${secret}`;

const upload = (plantId: number, parts: readonly string[], ...headers: Headers): RawRequest =>
  post(`/v3/plant/${plantId}/uploadImage`, [...parts.map((part) => `--b\r\nContent-Disposition: form-data; ${part}\r\n`), '--b--\r\n'].join(''), ['content-type', 'multipart/form-data; boundary=b'], staff, ...headers);
const png = '\u0089PNG\r\n\u001a\n';

const handshake: Headers = [['connection', 'upgrade'], ['upgrade', 'websocket'], ['sec-websocket-version', '13'], ['sec-websocket-key', 'AAAAAAAAAAAAAAAAAAAAAA==']];

/** Every place in which clients send secrets, intentionally or by mistake. */
export const canaryRequests: readonly CanaryRequest[] = [
  // passwords
  { name: 'the password of a new user', request: (secret, { fresh }) => postJson('/v3/user', { username: fresh(), password: secret }) },
  { name: 'the password of one of many', request: (secret, { fresh }) => postJson('/v3/user/createWithList', [{ username: fresh(), password: secret }]) },
  { name: 'the password of one of many in a refused list', request: (secret, { fresh }) => postJson('/v3/user/createWithList', [{ username: fresh(), password: secret }, { username: 'login', password: secret }]) },
  { name: 'the password for a taken username', request: (secret, { username }) => postJson('/v3/user', { username, password: secret }) },
  { name: 'the password for an invalid username', request: (secret) => postJson('/v3/user', { username: 'a b', password: secret }) },
  { name: 'a password that is too long', request: (secret, { fresh }) => postJson('/v3/user', { username: fresh(), password: secret.repeat(20) }) },
  { name: 'a password with NUL', request: (secret, { fresh }) => postJson('/v3/user', { username: fresh(), password: `${secret}\u0000` }) },
  { name: 'a wrong password', request: (secret, { username }) => get(`/v3/user/login?username=${username}&password=${secret}`) },
  { name: 'a password for an unknown user', request: (secret, { fresh }) => get(`/v3/user/login?username=${fresh()}&password=${secret}`) },
  { name: 'a password in the username field', request: (secret) => get(`/v3/user/login?username=${secret}&password=x`) },
  { name: 'a refused address', request: (secret) => postJson('/v3/store/order', { plantId: 1, shipTo: { name: secret, lines: [secret, 1] } }, staff) },
  { name: 'a password as a search term', request: (secret) => get(`/v3/plant/search?q=${secret}&sort=${secret}`) },
  { name: 'a password as the cursor of a search', request: (secret) => get(`/v3/plant/search?q=a&cursor=${secret}`) },
  { name: 'a password in a refused line of an import', request: (secret) => post('/v3/plant/import', `{"id":0,"name":"${secret}"}\n${secret}\n{"id":7,"na${secret}`, ['content-type', 'application/x-ndjson'], staff) },
  { name: 'a password twice', request: (secret, { username }) => get(`/v3/user/login?username=${username}&password=${secret}&password=${secret}`) },
  { name: 'a password after a broken percent-encoding', request: (secret, { username }) => get(`/v3/user/login?username=${username}&password=%zz${secret}`) },
  { name: 'a password with another method', request: (secret, { username }) => post(`/v3/user/login?username=${username}&password=${secret}`, '') },
  { name: 'a password at an unknown path', request: (secret, { username }) => get(`/v3/user/sign-in/now/x?username=${username}&password=${secret}`) },
  { name: 'a new password', request: (secret, { username, session }) => ({ ...postJson(`/v3/user/${username}`, { password: secret }, bearer(session)), method: 'PUT' }) },
  { name: "another user's new password", request: (secret, { session }) => ({ ...postJson('/v3/user/admin', { password: secret }, bearer(session)), method: 'PUT' }) },
  { name: 'a password in a search for users', request: (secret) => get(`/v3/user?q=${secret}`, staff) },
  { name: 'a password as a role', request: (secret, { username }) => ({ ...postJson(`/v3/user/${username}/role`, { role: secret }, staff), method: 'PUT' }) },
  { name: 'a key as bearer token for an open operation', request: (secret) => get('/v3/plant/0', bearer(secret)) },
  { name: 'a token at a login', request: (secret, { username, password }) => get(`/v3/user/login?username=${username}&password=${password}`, bearer(secret)) },
  { name: 'a password before the @ of a URL', request: (secret) => get(`http://user:${secret}@shop.example/v3/plant/0`) },
  { name: 'a password in the path', request: (secret) => get(`/v3/user/${secret}`), inPath: true },

  // links in mails
  { name: 'a password as the account to recover', request: (secret) => postJson('/v3/recovery', { username: secret }) },
  { name: 'a password as the address to recover', request: (secret) => postJson('/v3/recovery', { email: secret }) },
  { name: 'a password as an account that is named twice', request: (secret) => postJson('/v3/recovery', { email: secret, username: secret }) },
  { name: 'the code of a link that recovers', request: (secret) => get(`/account/password?code=${secret}`) },
  { name: 'the code of a link that verifies', request: (secret) => get(`/account/email?code=${secret}`) },
  { name: 'password, address and name in a form of the account page', request: (secret) => post('/account', new URLSearchParams({ action: 'set-password', password: secret, email: secret, confirmed: secret, proof: secret }).toString(), form, ['cookie', `plant_shop_login=${secret}`]) },
  { name: 'code and password in a form from elsewhere', request: (secret) => post('/account/password', new URLSearchParams({ code: secret, password: secret, proof: secret }).toString(), form, ['cookie', `plant_shop_form=${secret}`]) },
  { name: 'a code of a second factor', request: (secret, { username, session }) => postJson(`/v3/user/${username}/apiKeys`, { name: 'k', currentPassword: 'x', currentCode: secret }, bearer(session)) },
  { name: 'a code in a header', request: (secret, { username, session }) => ({ ...get(`/v3/user/${username}/factors/00000000-0000-4000-8000-000000000001`, bearer(session), ['current-code', secret], ['current-password', secret]), method: 'DELETE' }) },
  { name: 'a passkey that is exchanged', request: (secret) => post('/account/passkey', new URLSearchParams({ credential: secret, proof: secret }).toString(), form) },
  { name: 'a code and a passkey in a form from elsewhere', request: (secret) => post('/account/factors', new URLSearchParams({ code: secret, credential: secret, app: secret, proof: secret }).toString(), form) },

  { name: 'a password as the account on the page of recovery', request: (secret, { recovery }) => submit(recovery, { account: secret, action: 'send' }) },
  { name: 'a password and the code of a link on the page of recovery', request: (secret, { recovery }) => submit(recovery, { account: '', code: secret, password: secret }) },
  { name: 'a password at a sign-up with a taken name', request: (secret, { signUp, username }) => submit(signUp, { username, email: 'canary@shop.test', password: secret, action: 'sign-up' }) },
  { name: 'a password at a sign-up with an invalid name', request: (secret, { signUp }) => submit(signUp, { username: 'a b', email: 'canary@shop.test', password: secret, action: 'sign-up' }) },
  { name: 'a password at a sign-up with an address that is none', request: (secret, { signUp, fresh }) => submit(signUp, { username: fresh(), email: 'nowhere', password: secret, action: 'sign-up' }) },
  { name: 'a password at a sign-up with CRLF in the address', request: (secret, { signUp, fresh }) => submit(signUp, { username: fresh(), email: 'a@shop.test\r\nBcc: b@shop.test', password: secret, action: 'sign-up' }) },
  { name: 'a key in the query of a mail to be sent again', request: (secret, { username }) => post(`/v3/user/${username}/emailVerification?api_key=${secret}`, '') },
  { name: 'a session for a mail to be sent again', request: (secret, { username }) => post(`/v3/user/${username}/emailVerification`, '', bearer(secret)) },

  // keys and tokens
  { name: 'an unknown key', request: (secret) => get('/v3/store/inventory', ['api_key', secret]) },
  { name: 'a key with a space', request: (secret) => get('/v3/store/inventory', ['api_key', `${secret} ${secret}`]) },
  { name: 'a key in a header of another name', request: (secret) => get('/v3/store/inventory', ['x-api-key', secret]) },
  { name: 'a key in the query', request: (secret) => get(`/v3/store/inventory?api_key=${secret}`) },
  { name: 'an unknown session', request: (secret) => get('/v3/store/inventory', ['session_token', secret]) },
  { name: 'a session to log out', request: (secret) => get('/v3/user/logout', bearer(secret)) },
  { name: 'an unknown bearer token', request: (secret) => get('/v3/store/inventory', bearer(secret)) },
  { name: 'a forged JWT', request: (secret) => get('/v3/store/inventory', bearer(jwt(secret))) },
  { name: 'a token in the query', request: (secret) => get(`/v3/store/order?access_token=${secret}`) },
  { name: 'Basic credentials', request: (secret) => get('/v3/store/inventory', ['authorization', `Basic ${Buffer.from(`admin:${secret}`).toString('base64')}`]) },
  { name: 'credentials without a scheme', request: (secret) => get('/v3/store/inventory', ['authorization', secret]) },
  { name: 'credentials for a proxy', request: (secret) => get('/v3/plant/0', ['proxy-authorization', `Basic ${secret}`]) },
  { name: 'a cookie', request: (secret) => get('/v3/plant/0', ['cookie', `session=${secret}`]) },

  // the stream
  { name: 'a key for the stream', request: (secret) => get(`/v1/orders/updates?api_key=${secret}`), toStream: true },
  { name: 'a key at a handshake', request: (secret) => get(`/v1/orders/updates?api_key=${secret}`, ...handshake), toStream: true },
  { name: 'a key in the header of a handshake', request: (secret) => get('/v1/orders/updates', ['api_key', secret], ...handshake), toStream: true },
  { name: 'a key at another path of the stream', request: (secret) => get(`/v1/orders?api_key=${secret}`), toStream: true },
  { name: 'a cursor for the stream', request: (secret) => get(`/v1/orders/updates?api_key=special-key&cursor=${secret}`, ['last-event-id', secret]), toStream: true },

  { name: 'an event type for the stream', request: (secret) => get(`/v1/orders/updates?api_key=special-key&types=order.placed,${secret}`), toStream: true },
  { name: 'an event type at a handshake', request: (secret) => get(`/v1/orders/updates?api_key=special-key&types=${secret}`, ...handshake), toStream: true },
  { name: 'an event type of a webhook', request: (secret) => postJson('/v3/webhooks', { url: 'https://example.com/canary', eventTypes: ['order.placed', secret] }, staff) },

  // OAuth
  { name: "a client's wrong secret in a form", request: (secret) => token({ grant_type: 'client_credentials', client_id: 'plant-admin', client_secret: secret }) },
  { name: "a client's wrong secret in a header", request: (secret) => token({ grant_type: 'client_credentials' }, ['authorization', `Basic ${Buffer.from(`plant-admin:${secret}`).toString('base64')}`]) },
  { name: 'an authorization code', request: (secret) => token({ grant_type: 'authorization_code', client_id: 'plant-admin', client_secret: 'plant-secret', code: secret, code_verifier: secret, redirect_uri: 'https://x.example' }) },
  { name: 'a refresh token', request: (secret) => token({ grant_type: 'refresh_token', client_id: 'plant-admin', client_secret: 'plant-secret', refresh_token: secret }) },
  { name: 'a token to be revoked', request: (secret) => post('/oauth/revoke', new URLSearchParams({ token: secret, client_id: 'plant-admin', client_secret: 'plant-secret' }).toString(), form) },
  { name: 'a token to be introspected', request: (secret) => post('/oauth/introspect', new URLSearchParams({ token: secret, client_id: 'plant-admin', client_secret: 'plant-secret' }).toString(), form) },
  { name: 'a client secret in the query instead of the form', request: (secret) => post(`/oauth/token?client_secret=${secret}`, 'grant_type=client_credentials', form) },
  { name: 'the state of a login', request: (secret) => get(`/oauth/auth?client_id=plant-admin&response_type=code&state=${secret}&redirect_uri=https://x.example`) },

  // request headers
  { name: 'an Idempotency-Key', request: (secret, { plantId }) => postJson('/v3/store/order', { plantId }, staff, ['idempotency-key', secret]) },
  { name: 'an Idempotency-Key of a refused request', request: (secret) => postJson('/v3/store/order', { plantId: 0 }, staff, ['idempotency-key', secret]) },
  { name: 'an Idempotency-Key with a space', request: (secret) => postJson('/v3/store/order', { plantId: 1 }, staff, ['idempotency-key', `${secret} ${secret}`]) },
  { name: 'an invalid request id', request: (secret) => get('/v3/plant/0', ['x-request-id', `${secret} ${secret}`]) },
  { name: 'baggage of a trace', request: (secret) => get('/v3/plant/0', ['baggage', `token=${secret}`], ['tracestate', `a=${secret}`], ['traceparent', `00-${secret}-x-01`]) },
  { name: 'a referrer and a user agent', request: (secret) => get('/v3/plant/0', ['referer', `https://x.example/?token=${secret}`], ['user-agent', secret]) },
  { name: 'an entity tag', request: (secret, { plantId }) => get(`/v3/plant/${plantId}`, ['if-none-match', `"${secret}"`]) },

  // bodies
  { name: 'an unknown member', request: (secret) => postJson('/v3/plant', { name: 'Canary', secret }, staff) },
  { name: 'broken JSON', request: (secret) => post('/v3/plant', `{"name": "${secret}`, json, staff) },
  { name: 'a body of another type', request: (secret) => post('/v3/plant', secret, ['content-type', `text/plain; secret=${secret}`], staff) },
  { name: 'a value of another type', request: (secret) => postJson('/v3/plant', { name: { secret } }, staff) },
  { name: 'a value outside an enumeration', request: (secret) => postJson('/v3/plant', { name: 'Canary', status: secret }, staff) },
  { name: 'an unknown form field', request: (secret, { plantId }) => post(`/v3/plant/${plantId}`, `name=Canary&secret=${secret}`, form, staff) },
  { name: 'the name of a file', request: (secret, { plantId }) => upload(plantId, [`name="file"; filename="${secret}.png"\r\n\r\n${png}`]) },
  { name: 'an unknown part', request: (secret, { plantId }) => upload(plantId, [`name="secret"\r\n\r\n${secret}`, `name="file"; filename="a.png"\r\n\r\n${png}`]) },
  { name: 'text in a refused file', request: (secret, { plantId }) => upload(plantId, [`name="file"; filename="a.html"\r\n\r\n<html>${secret}`]) },
  { name: 'metadata of a refused file', request: (secret, { plantId }) => upload(plantId, [`name="additionalMetadata"\r\n\r\n${secret}`]) },

  // malformed HTTP
  { name: 'an invalid request line', request: (secret) => ({ method: 'GET', target: `/v3/plant/1 ${secret}`, headers: [], alone: true }) },
  { name: 'headers that are too long', request: (secret) => get('/v3/plant/1', ['x-long', secret.repeat(1_000)]) },
  { name: 'an unknown method', request: (secret) => ({ method: secret, target: '/v3/plant/1', headers: [], alone: true }) },
  { name: 'a query of a page', request: (secret) => get(`/docs?token=${secret}`) },
  { name: 'TRACE', request: (secret) => ({ method: 'TRACE', target: '/v3/plant/1', headers: [['x-secret', secret]] }) },
];
