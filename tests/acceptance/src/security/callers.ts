import { rows } from '../internals.js';
import { type Customer, gatewayUrl, login, newCustomer, ok, send, staff } from '../shop.js';
import { type Permission, permissions } from './access-table.js';

export interface Caller {
  readonly name: string;
  readonly headers: readonly (readonly [string, string])[];
  /** What the credentials grant. `undefined`: there are none. `refused`: they are invalid. */
  readonly carries: 'refused' | undefined | { readonly permissions: readonly Permission[]; readonly key?: true; readonly sessionOf?: string };
}

const bearer = (token: string) => ['authorization', `Bearer ${token}`] as const;
const key = (secret: string) => ['api_key', secret] as const;
const session = (token: string) => ['session_token', token] as const;

const customerMay: readonly Permission[] = ['read:plants', 'write:orders', 'webhooks'];
const staffMay = permissions.filter((one) => one !== 'write:users');

/** Creates callers with every kind of credential, valid and invalid, and combinations. @param path what their access tokens are for */
export async function allCallers(path: '/v3' | '/mcp' = '/v3'): Promise<{ readonly callers: readonly Caller[]; readonly user: string }> {
  const [own, other, clerk] = await Promise.all([newCustomer(), newCustomer(), newCustomer()]);
  await rows('identity', `UPDATE users SET role = 'staff' WHERE username = $1`, [clerk.username]);
  const ownSession = await login(own.username, own.password);
  const ownKey = await newKey(own);
  const token = await tokenFor(path);
  const single = await Promise.all(permissions.map(async (one) => ({ one, token: await tokenFor(path, one), key: await newKey({ ...staff, username: 'admin' }, { permissions: [one] }) })));
  const adminSession = await login('admin', 'admin-password');

  const good: Caller[] = [
    { name: 'session as bearer', headers: [bearer(own.bearer)], carries: { permissions: customerMay, sessionOf: own.username } },
    { name: 'session in its header', headers: [session(ownSession)], carries: { permissions: customerMay, sessionOf: own.username } },
    { name: "another customer's session", headers: [bearer(other.bearer)], carries: { permissions: customerMay, sessionOf: other.username } },
    { name: "customer's key", headers: [key(ownKey)], carries: { permissions: customerMay, key: true } },
    { name: 'staff session', headers: [bearer(await login(clerk.username, clerk.password))], carries: { permissions: staffMay, sessionOf: clerk.username } },
    { name: 'admin session', headers: [session(adminSession)], carries: { permissions, sessionOf: 'admin' } },
    { name: 'admin key', headers: [key('special-key')], carries: { permissions, key: true } },
    { name: 'admin token', headers: [bearer(token)], carries: { permissions } },
    ...single.flatMap(({ one, token, key: secret }): Caller[] => [
      { name: `token with ${one} alone`, headers: [bearer(token)], carries: { permissions: [one] } },
      { name: `key with ${one} alone`, headers: [key(secret)], carries: { permissions: [one], key: true } },
    ]),
    // Of one user, permissions are combined.
    { name: 'two keys of an admin, one as a token', headers: [key(single[0]!.key), bearer(single[1]!.token)], carries: { permissions: ['write:plants', 'read:stock'], key: true } },
    { name: "customer's session and key", headers: [bearer(own.bearer), key(ownKey)], carries: { permissions: customerMay, key: true, sessionOf: own.username } },
    // Of two, the session's user acts, else the key's; the others add nothing.
    { name: "customer's session and an admin's key", headers: [bearer(own.bearer), key('special-key')], carries: { permissions: customerMay, sessionOf: own.username } },
    { name: "customer's session in its header and an admin's key", headers: [session(ownSession), key('special-key')], carries: { permissions: customerMay, sessionOf: own.username } },
    { name: "customer's session and an admin's token", headers: [session(ownSession), bearer(token)], carries: { permissions: customerMay, sessionOf: own.username } },
    { name: "customer's key and an admin's token", headers: [key(ownKey), bearer(token)], carries: { permissions: customerMay, key: true } },
    { name: "admin's session and a customer's key", headers: [session(adminSession), key(ownKey)], carries: { permissions, sessionOf: 'admin' } },
    { name: "admin's narrow key and a customer's session", headers: [key(single[0]!.key), bearer(own.bearer)], carries: { permissions: customerMay, sessionOf: own.username } },
    { name: "customer's key and session, and an admin's token", headers: [key(ownKey), bearer(token), session(ownSession)], carries: { permissions: customerMay, key: true, sessionOf: own.username } },
  ];
  return { callers: [{ name: 'anonymous', headers: [], carries: undefined }, ...good, ...(await badCallers({ ownKey, ownSession, token, elsewhere: await tokenFor(path === '/v3' ? '/mcp' : '/v3') }))], user: own.username };
}

async function badCallers(valid: { ownKey: string; ownSession: string; token: string; elsewhere: string }): Promise<Caller[]> {
  const { ownKey, ownSession, token, elsewhere } = valid;
  const [deleted, remaining] = await Promise.all([newCustomer(), newCustomer()]);
  const soon = new Date(Date.now() + 1_500).toISOString();
  const expiredKey = await newKey(remaining, { expiresAt: soon });
  const keyOfDeleted = await newKey(deleted);
  await ok(send('DELETE', `/v3/user/${deleted.username}`, { as: { bearer: deleted.bearer } }));
  const revoked = await revokedKey(remaining);
  const loggedOut = await login(remaining.username, remaining.password);
  await ok(send('GET', '/v3/user/logout', { as: { bearer: loggedOut } }));
  const expiredSession = await login(remaining.username, remaining.password);
  await rows('identity', `UPDATE sessions SET expires_at = now() - interval '1 s' WHERE token_hash = sha256($1)`, [Buffer.from(expiredSession)]);
  const [head = '', claims = '', signature = ''] = token.split('.');
  const json = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const payload = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, Date.parse(soon) - Date.now() + 100)));

  const invalid: Record<string, Caller['headers']> = {
    'an unknown key': [key('no-such-key')],
    'an unknown session': [session('no-such-session')],
    'an unknown bearer token': [bearer('no-such-token')],
    'an empty key': [key('')],
    'a key with a comma': [key('special-key,special-key')],
    'a key with a space': [key('special-key special-key')],
    'a key of 8,000 characters': [key('x'.repeat(8_000))],
    'SQL for a key': [key("' OR '1'='1")],
    'another scheme': [['authorization', 'Basic YWRtaW46YWRtaW4tcGFzc3dvcmQ=']],
    'a bare scheme': [['authorization', 'Bearer']],
    'a key as bearer': [bearer(ownKey)],
    'a session as key': [key(ownSession)],
    'a token as key': [key(token)],
    'a token as session': [session(token)],
    'a token for another resource': [bearer(elsewhere)],
    'an expired key': [key(expiredKey)],
    'a revoked key': [key(revoked)],
    'the key of a deleted user': [key(keyOfDeleted)],
    'the session of a deleted user': [bearer(deleted.bearer)],
    'a logged-out session': [bearer(loggedOut)],
    'an expired session': [session(expiredSession)],
    'a token with another signature': [bearer(`${head}.${claims}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`)],
    'a token without signature': [bearer(`${json({ alg: 'none', typ: 'at+jwt' })}.${claims}.`)],
    'a token with changed claims': [bearer(`${head}.${json({ ...payload, sub: 'admin', exp: 4e9 })}.${signature}`)],
    'a token with the algorithm changed to HS256': [bearer(`${json({ alg: 'HS256', typ: 'at+jwt' })}.${claims}.${signature}`)],
    'two keys': [key('special-key'), key(ownKey)],
    'two bearers': [bearer(token), bearer(ownSession)],
    'two sessions': [bearer(ownSession), session(ownSession)],
    'a valid key and an unknown session': [key('special-key'), session('no-such-session')],
    'a valid session and a revoked key': [bearer(ownSession), key(revoked)],
    'a valid token and an unknown key': [bearer(token), key('no-such-key')],
  };
  return Object.entries(invalid).map(([name, headers]) => ({ name, headers, carries: 'refused' }));
}

interface Made {
  readonly id: string;
  readonly key: string;
}

const make = (who: Pick<Customer, 'username' | 'bearer'> | { username: string; apiKey?: string }, more: object): Promise<Made> =>
  ok(send<Made>('POST', `/v3/user/${who.username}/apiKeys`, { as: who, json: { name: 'made for the access test', ...more } }));

const newKey = async (...[who, more = {}]: [Parameters<typeof make>[0], object?]): Promise<string> => (await make(who, more)).key;

async function revokedKey(who: Customer): Promise<string> {
  const { id, key: secret } = await make(who, {});
  await ok(send('DELETE', `/v3/user/${who.username}/apiKeys/${id}`, { as: who }));
  return secret;
}

/** An access token of the demo client with all its permissions, or only with `scope`. */
async function tokenFor(path: '/v3' | '/mcp', scope?: Permission): Promise<string> {
  const form = { grant_type: 'client_credentials', resource: gatewayUrl() + path, client_id: 'plant-admin', client_secret: 'plant-secret', ...(scope !== undefined && { scope }) };
  const response = await fetch(`${gatewayUrl()}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) });
  return ((await response.json()) as { access_token: string }).access_token;
}
