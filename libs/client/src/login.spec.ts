import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Elsewhere, hangUp, json, problem } from './calls.spec.fixture.js';
import { createShop } from './index.js';
import { createLogin, type Login, LoginFailed, type LoginOptions, type LoginSession } from './login.js';

// The shop's login page takes part in tests/acceptance/src/client/examples.spec.ts.

const redirectUri = 'https://planner.example/callback';
/** What a page has and Node does not. */
const page = { location: { href: '' }, stored: new Map<string, string>(), left: [] as URL[] };
const globals = {
  location: {
    get href() {
      return page.location.href;
    },
    get pathname() {
      return new URL(page.location.href).pathname;
    },
    get search() {
      return new URL(page.location.href).search;
    },
    hash: '',
    assign: (address: string) => void page.left.push(new URL(address)),
  },
  history: { state: null, replaceState: (_: unknown, __: string, address: string) => (page.location.href = address) },
  sessionStorage: {
    getItem: (key: string) => page.stored.get(key) ?? null,
    setItem: (key: string, value: string) => void page.stored.set(key, value),
    removeItem: (key: string) => void page.stored.delete(key),
  },
};

const servers: Elsewhere[] = [];
const before = Object.fromEntries(Object.keys(globals).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]));
beforeEach(() => {
  for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, { value, configurable: true });
  Object.assign(page, { location: { href: 'https://planner.example/orders?page=2' }, left: [] });
  page.stored.clear();
});
afterEach(async () => {
  for (const [name, found] of Object.entries(before)) {
    if (found) Object.defineProperty(globalThis, name, found);
    else Reflect.deleteProperty(globalThis, name);
  }
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

const granted = (n: number, more: object = {}) => json({ access_token: `a-${n}`, refresh_token: `r-${n}`, expires_in: 3_600, scope: 'write:orders', ...more });
async function start(...answers: Parameters<typeof Elsewhere.start>): Promise<{ readonly server: Elsewhere; readonly login: Login; readonly options: LoginOptions }> {
  const server = await Elsewhere.start(...answers);
  servers.push(server);
  const options = { url: server.url, clientId: 'planner', redirectUri, scope: 'write:orders' };
  return { server, login: createLogin(options), options };
}
/** Begins a login, and comes back from the login page. */
async function comeBack(login: Login, answer: Record<string, string> = { code: 'c-1' }): Promise<URLSearchParams> {
  await login.begin();
  const asked = page.left.at(-1)?.searchParams ?? new URLSearchParams();
  page.location.href = `${redirectUri}?${new URLSearchParams({ state: asked.get('state') ?? '', ...answer }).toString()}`;
  return asked;
}
async function loggedIn(login: Login): Promise<LoginSession> {
  await comeBack(login);
  const session = await login.finish();
  if (!session) throw new Error('nobody is logged in');
  return session;
}
const fieldsOf = ({ bodies }: Elsewhere) => bodies.map((body) => Object.fromEntries(new URLSearchParams(body)));
const refreshes = (server: Elsewhere) => fieldsOf(server).filter(({ grant_type: type }) => type === 'refresh_token');

describe('a login', () => {
  it('asks for a code that only this page can use, and takes it out of the address', async () => {
    const { login, server } = await start(granted(1));
    const asked = await comeBack(login, { code: 'c-1', iss: 'https://shop.example', kept: 'yes' });
    expect(page.left.map(({ origin, pathname }) => origin + pathname)).toEqual([`${server.url}/oauth/authorize`]);
    expect(Object.fromEntries(asked)).toMatchObject({ response_type: 'code', client_id: 'planner', redirect_uri: redirectUri, scope: 'write:orders', code_challenge_method: 'S256' });
    const session = await login.finish();
    expect(session).toMatchObject({ scopes: ['write:orders'], returnTo: '/orders?page=2' });
    expect(page.location.href).toBe(`${redirectUri}?kept=yes`);
    const [{ code_verifier: verifier = '', ...fields } = {}] = fieldsOf(server);
    expect(fields).toEqual({ grant_type: 'authorization_code', code: 'c-1', client_id: 'planner', redirect_uri: redirectUri });
    expect(createHash('sha256').update(verifier).digest('base64url')).toBe(asked.get('code_challenge'));
    expect(page.stored.size).toBe(0);
  });

  it('uses a code once, although a page finishes it twice', async () => {
    const { login, server } = await start(granted(1));
    await comeBack(login);
    const [first, second] = await Promise.all([login.finish(), login.finish()]);
    expect(second).toBe(first);
    expect(server.requests).toHaveLength(1);
  });

  it('is not there on a page without an answer', async () => {
    const { login, server } = await start(granted(1));
    for (const query of ['', '?state=mine', '?code=mine']) {
      page.location.href = redirectUri + query;
      expect(await login.finish()).toBeUndefined();
      expect(page.location.href).toBe(redirectUri + query);
    }
    expect(server.requests).toEqual([]);
  });

  it.each([
    ['another state', { code: 'c-1', state: 'forged' }, 'state-mismatch'],
    ['an error', { error: 'access_denied', error_description: 'The user refused.' }, 'access_denied'],
  ])('fails after %s, and asks for no token', async (_, answer, code) => {
    const { login, server } = await start(granted(1));
    await comeBack(login, answer);
    await expect(login.finish()).rejects.toMatchObject({ name: 'LoginFailed', code });
    expect(page.location.href).toBe(redirectUri);
    expect(server.requests).toEqual([]);
  });

  it('fails for an answer that is used again, and on a page without https', async () => {
    const { options } = await start(granted(1));
    const first = createLogin(options);
    await comeBack(first);
    const { href } = page.location;
    await first.finish();
    page.location.href = href;
    await expect(createLogin(options).finish()).rejects.toMatchObject({ code: 'state-mismatch' });
    const crypto = Object.getOwnPropertyDescriptor(globalThis, 'crypto') ?? {};
    Object.defineProperty(globalThis, 'crypto', { value: { getRandomValues: (bytes: Uint8Array) => bytes }, configurable: true });
    try {
      await expect(first.begin()).rejects.toThrow(LoginFailed);
    } finally {
      Object.defineProperty(globalThis, 'crypto', crypto);
    }
  });
});

describe("a login's token", () => {
  /** A shop whose only valid token is the last one. */
  const rotating = (): Parameters<typeof Elsewhere.start>[0] => {
    let n = 0;
    return (request, response) => {
      if (request.url === '/oauth/token') granted((n += 1))(request, response);
      else if (request.headers.authorization === `Bearer a-${n}`) json({ id: 1 })(request, response);
      else problem(401, 'credential-refused')(request, response);
    };
  };

  it('is refreshed once for all calls of all shops, each time with the next refresh token', async () => {
    const { login, server } = await start(rotating());
    const { credential } = await loggedIn(login);
    const shops = [createShop({ url: server.url, credential }), createShop({ url: server.url, credential })];
    const call = () => Promise.all([...shops, ...shops, ...shops].map((shop) => shop.orders.get(1)));
    await call();
    expect(refreshes(server)).toEqual([]);
    for (const count of [1, 2]) {
      // The shop takes the token back: it now accepts only a newer one.
      await fetch(`${server.url}/oauth/token`, { method: 'POST' });
      await call();
      expect(refreshes(server)).toHaveLength(count);
    }
    expect(refreshes(server).map((one) => one['refresh_token'])).toEqual(['r-1', 'r-3']);
  });

  it('is refreshed before it expires', async () => {
    const { login, server } = await start(granted(1, { expires_in: 0.2 }), granted(2), json({ id: 1 }));
    const shop = createShop({ url: server.url, credential: (await loggedIn(login)).credential });
    await new Promise((resolve) => setTimeout(resolve, 150));
    await Promise.all([shop.orders.get(1), shop.orders.get(1)]);
    expect(refreshes(server)).toHaveLength(1);
    expect(server.requests.slice(2).map(({ headers }) => headers.authorization)).toEqual(['Bearer a-2', 'Bearer a-2']);
  });

  it('is not lost by an aborted call, nor by an answer that does not arrive', async () => {
    const { login, server } = await start(granted(1, { expires_in: 0 }), hangUp, granted(2), json({ id: 1 }));
    const { credential } = await loggedIn(login);
    const shop = createShop({ url: server.url, credential });
    const stop = new AbortController();
    const aborted = shop.orders.get(1, undefined, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    await shop.orders.get(1);
    // Twice with the same: the answer was lost, and the shop repeats it.
    expect(refreshes(server).map((one) => one['refresh_token'])).toEqual(['r-1', 'r-1']);
    expect(server.requests.at(-1)?.headers.authorization).toBe('Bearer a-2');
  });

  it('that the shop no longer renews ends the session', async () => {
    const { login, server } = await start(granted(1, { expires_in: 0 }), json({ error: 'invalid_grant' }, 400));
    const shop = createShop({ url: server.url, credential: (await loggedIn(login)).credential });
    await expect(shop.orders.get(1)).rejects.toMatchObject({ kind: 'credential', error: 'invalid_grant', outcome: 'refused' });
  });
});

describe('a logout', () => {
  it('revokes the latest token, ends the session here, and leaves for the logout page', async () => {
    const { server, options } = await start(granted(1, { expires_in: 0 }), granted(2), json({ id: 1 }));
    const goodbye = 'https://planner.example/goodbye';
    const session = await loggedIn(createLogin({ ...options, postLogoutRedirectUri: goodbye }));
    const shop = createShop({ url: server.url, credential: session.credential });
    const running = shop.orders.get(1);
    await session.logOut();
    await running;
    expect(fieldsOf(server)).toContainEqual({ token: 'r-2', client_id: 'planner' });
    expect(page.left.at(-1)?.href).toBe(`${server.url}/oauth/logout?${new URLSearchParams({ client_id: 'planner', post_logout_redirect_uri: goodbye }).toString()}`);
    const count = server.requests.length;
    await expect(createShop({ url: server.url, credential: session.credential }).orders.get(1)).rejects.toMatchObject({ error: 'login_required' });
    expect(server.requests).toHaveLength(count);
  });

  it('that the shop does not answer is an error, and ends the session here all the same', async () => {
    const { server, login } = await start(granted(1), hangUp);
    const session = await loggedIn(login);
    await expect(session.logOut()).rejects.toMatchObject({ kind: 'unreachable' });
    await expect(createShop({ url: server.url, credential: session.credential }).orders.get(1)).rejects.toMatchObject({ error: 'login_required' });
    expect(page.left).toHaveLength(1);
  });
});
