import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import { fake, startFake } from '@plant-shop/service-testing/service';
import { expectPage, expectRedirect } from '@plant-shop/testing/browser';
import { decodeJwt } from 'jose';
import { manager } from '../identity.spec.fixture.js';
import { TestOAuth } from './oauth.spec.fixture.js';

type Client = Awaited<ReturnType<TestOAuth['register']>>;
type User = Awaited<ReturnType<TestOAuth['shop']['registerAndLogin']>>;

describe('OAuth 2.0 grants', () => {
  let oauth: TestOAuth;
  let client: Client;
  let user: User;
  let orders: { stop(): Promise<void> };
  beforeAll(async () => {
    oauth = await TestOAuth.start();
    orders = await startFake(oauth.shop.natsUrl, 'store', [fake(store.closeCustomer, () => ({ openOrders: [] }))]);
    client = await oauth.register();
    user = await oauth.shop.registerAndLogin();
  });
  afterAll(async () => {
    await orders.stop();
    await oauth.shop.stop();
  });

  const isActive = async (token: string): Promise<boolean> => (await oauth.introspect(client, token)).active;
  const refused = (error: string): object => ({ error });

  describe('a refresh token', () => {
    it('is replaced at each use (slow)', async () => {
      const first = await oauth.tokens(client, user);
      const second = await oauth.refresh(client, first.refresh_token ?? '');
      const third = await oauth.refresh(client, second.refresh_token ?? '');
      expect(new Set([first, second, third].map((one) => one.refresh_token)).size).toBe(3);
      expect(await isActive(third.access_token)).toBe(true);
    });

    it('is refused, and not consumed, after 2,000 used ones of its grant within 30 days (slow)', async () => {
      const request = await oauth.request(client);
      const first = await oauth.redeem(client, request, await oauth.authorize(oauth.browser(), request, user));
      const grantId = decodeJwt(first.access_token)['grant_id'] as string;
      const fill = (count: number) =>
        oauth.shop.sql.query(
          `INSERT INTO oauth_payloads (model, id_hash, payload, key_id, grant_id, consumed_at, expires_at)
           SELECT 'RefreshToken', sha256(($1 || n)::bytea), '', 'none', $1, now(), now() + interval '1 day' FROM generate_series(1, $2::int) n`,
          [grantId, count],
        );
      await fill(2_000);
      await expect(oauth.refresh(client, first.refresh_token ?? '')).rejects.toMatchObject(refused('invalid_grant'));
      await oauth.shop.sql.query(`DELETE FROM oauth_payloads WHERE grant_id = $1 AND id_hash = sha256(($1 || 1)::bytea)`, [grantId]);
      await expect(oauth.refresh(client, first.refresh_token ?? '')).resolves.toMatchObject({ token_type: 'bearer' });
    });

    /** Sets back when the grant's refresh tokens were used. */
    const passed = (seconds: number, { access_token: token }: { access_token: string }) =>
      oauth.shop.sql.query(`UPDATE oauth_payloads SET consumed_at = consumed_at - make_interval(secs => $1) WHERE grant_id = $2`, [
        seconds,
        decodeJwt(token)['grant_id'],
      ]);

    it('can be used again by the same client within 10 s, if the answer was lost, for the same successor (slow)', async () => {
      const first = await oauth.tokens(client, user);
      const lost = await oauth.refresh(client, first.refresh_token ?? '');
      await passed(9, first);
      const repeated = await oauth.refresh(client, first.refresh_token ?? '');
      expect(repeated.refresh_token).toBe(lost.refresh_token);
      for (const { access_token: token } of [first, lost, repeated]) expect(await isActive(token)).toBe(true);
      const next = await oauth.refresh(client, repeated.refresh_token ?? '');
      await passed(11, next);
      await expect(oauth.refresh(client, repeated.refresh_token ?? '')).rejects.toMatchObject(refused('invalid_grant'));
      expect(await isActive(next.access_token)).toBe(false);
    });

    it('yields one successor for concurrent uses on several replicas (slow)', async () => {
      const { httpPort } = await oauth.shop.addReplica();
      for (let round = 0; round < 5; round++) {
        const first = await oauth.tokens(client, user);
        const ports = [oauth.shop.httpPort, httpPort, oauth.shop.httpPort, httpPort];
        const all = await Promise.all(ports.map((port) => oauth.refresh(client, first.refresh_token ?? '', port)));
        expect(new Set(all.map((one) => one.refresh_token)).size).toBe(1);
        for (const { access_token: token } of all) expect(await isActive(token)).toBe(true);
        const next = await oauth.refresh(client, all[0]?.refresh_token ?? '', httpPort);
        expect(await isActive(next.access_token)).toBe(true);
      }
    });

    it('ends the grant when used again after its successor, whose use shows that the answer arrived (slow)', async () => {
      const first = await oauth.tokens(client, user);
      const second = await oauth.refresh(client, first.refresh_token ?? '');
      const third = await oauth.refresh(client, second.refresh_token ?? '');
      await expect(oauth.refresh(client, first.refresh_token ?? '')).rejects.toMatchObject(refused('invalid_grant'));
      expect(await isActive(third.access_token)).toBe(false);
    });

    it('ends the grant when used again by another client, also within 10 s', async () => {
      const first = await oauth.tokens(client, user);
      const second = await oauth.refresh(client, first.refresh_token ?? '');
      const other = await oauth.register();
      await expect(oauth.refresh(other, first.refresh_token ?? '')).rejects.toMatchObject(refused('invalid_grant'));
      expect(await isActive(second.access_token)).toBe(false);
    });

    it('ends the grant when used again if it stores 2,000 used ones (slow)', async () => {
      const first = await oauth.tokens(client, user);
      const second = await oauth.refresh(client, first.refresh_token ?? '');
      await passed(11, first);
      await oauth.shop.sql.query(
        `INSERT INTO oauth_payloads (model, id_hash, payload, key_id, grant_id, consumed_at, expires_at)
         SELECT 'RefreshToken', sha256(($1 || n)::bytea), '', 'none', $1, now(), now() + interval '1 day' FROM generate_series(1, 2000) n`,
        [decodeJwt(first.access_token)['grant_id']],
      );
      await expect(oauth.refresh(client, first.refresh_token ?? '')).rejects.toMatchObject(refused('invalid_grant'));
      expect(await isActive(second.access_token)).toBe(false);
    });

    it('is inactive for introspection once used', async () => {
      const first = await oauth.tokens(client, user);
      await oauth.refresh(client, first.refresh_token ?? '');
      expect(await isActive(first.refresh_token ?? '')).toBe(false);
    });

    it('ends the grant and all its tokens when used again after 10 s', async () => {
      const first = await oauth.tokens(client, user);
      const second = await oauth.refresh(client, first.refresh_token ?? '');
      await passed(10, first);
      const grantId = decodeJwt(first.access_token)['grant_id'] as string;
      const head = await oauth.head();
      await expect(oauth.refresh(client, first.refresh_token ?? '')).rejects.toMatchObject(refused('invalid_grant'));
      expect(await oauth.revocations(head)).toEqual([`grant:${grantId}`]);
      for (const { access_token: token } of [first, second]) expect(await isActive(token)).toBe(false);
      await expect(oauth.refresh(client, second.refresh_token ?? '')).rejects.toMatchObject(refused('invalid_grant'));
    });

    it('is refused for another client, which ends nothing', async () => {
      const tokens = await oauth.tokens(client, user);
      const other = await oauth.register();
      await expect(oauth.refresh(other, tokens.refresh_token ?? '')).rejects.toMatchObject(refused('invalid_grant'));
      expect(await isActive(tokens.access_token)).toBe(true);
    });

    it('is not issued to clients registered without the refresh_token grant', async () => {
      const without = await oauth.register({ grantTypes: ['authorization_code'] });
      expect(await oauth.tokens(without, user)).not.toHaveProperty('refresh_token');
    });
  });

  describe('revocation and introspection', () => {
    it('revoking an access token ends its grant; another client can neither revoke nor introspect it (slow)', async () => {
      const tokens = await oauth.tokens(client, user);
      const other = await oauth.register();
      await expect(oauth.revoke(other, tokens.access_token)).rejects.toMatchObject(refused('invalid_request'));
      expect(await oauth.introspect(other, tokens.access_token)).toEqual({ active: false });
      expect(await isActive(tokens.access_token)).toBe(true);
      const head = await oauth.head();
      await oauth.revoke(client, tokens.access_token);
      const { jti, grant_id: grantId } = decodeJwt(tokens.access_token);
      expect(await oauth.revocations(head)).toEqual([`accessToken:${jti}`, `grant:${grantId as string}`]);
      expect(await isActive(tokens.access_token)).toBe(false);
    });

    it('introspection returns the claims of live tokens', async () => {
      const { access_token: token, refresh_token: refresh = '' } = await oauth.tokens(client, user);
      const { jti, exp, iat } = decodeJwt(token);
      expect(await oauth.introspect(client, token)).toEqual({
        active: true,
        client_id: client.clientId,
        sub: user.userId,
        scope: 'write:orders',
        iss: 'http://shop.test',
        aud: 'http://shop.test/v3',
        token_type: 'Bearer',
        jti,
        exp,
        iat,
      });
      expect(await oauth.introspect(client, refresh)).toMatchObject({ active: true, sub: user.userId });
    });

    const invalid = ['nonsense', 'a.b.c', 'eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0.e30.'];
    it.each(invalid)('introspection of %p returns only that it is inactive', async (token) => {
      expect(await oauth.introspect(client, token)).toEqual({ active: false });
    });

    it('refuse a form that is too long', async () => {
      const response = await fetch(`${oauth.servedAt}/oauth/revoke`, {
        method: 'POST',
        body: new URLSearchParams({ token: 'x'.repeat(60_000), client_id: client.clientId }),
      });
      expect(response.status).toBe(413);
    });
  });

  describe('a grant ends', () => {
    const ends: [string, (whose: User, by: Client) => Promise<unknown>][] = [
      [
        'when the password changes',
        ({ username }) => oauth.shop.call(identity.updateUser, { username, user: { password: 'another-password' } }, manager),
      ],
      ['when the user is deleted', ({ username }) => oauth.shop.call(identity.deleteUser, { username }, manager)],
      ['when the user logs out everywhere', ({ username }) => oauth.shop.call(identity.endSessions, { username }, manager)],
      ['when the client is deleted', (_, { clientId }) => oauth.shop.call(identity.deleteOAuthClient, { clientId }, manager)],
    ];

    it.each(ends)('%s (slow)', async (_, end) => {
      const whose = await oauth.shop.registerAndLogin();
      const own = await oauth.register();
      const browser = oauth.browser();
      const request = await oauth.request(own);
      const tokens = await oauth.redeem(own, request, await oauth.authorize(browser, request, whose));
      const secondRequest = await oauth.request(own, { prompt: 'consent' });
      const consent = expectPage(await browser.open(secondRequest.url));
      const head = await oauth.head();
      await end(whose, own);
      const { grant_id: grantId } = decodeJwt(tokens.access_token);
      const entries = [`grant:${grantId as string}`, `user:${whose.userId}`, `client:${own.clientId}`];
      expect((await oauth.revocations(head)).filter((one) => entries.includes(one))).toHaveLength(1);
      await expect(oauth.refresh(own, tokens.refresh_token ?? '')).rejects.toBeDefined();
      // An open consent page and the browser's session no longer yield a code either.
      const then = await browser.submit(consent, 'action=allow');
      expect('location' in then && then.location.searchParams.has('code')).toBe(false);
      const again = await browser.open((await oauth.request(own)).url);
      expect('location' in again && again.location.searchParams.has('code')).toBe(false);
    });

    it('when the session is ended in which a public client got it; that of a client on a server stays (slow)', async () => {
      const whose = await oauth.shop.registerAndLogin();
      const console = await oauth.register({ public: true, name: 'Console' });
      const [here, elsewhere] = [oauth.browser(), oauth.browser()];
      const first = await oauth.request(console);
      const inBrowser = await oauth.redeem(console, first, await oauth.authorize(here, first, whose));
      const second = await oauth.request(client);
      const onServer = await oauth.redeem(client, second, expectRedirect(await here.submit(expectPage(await here.open(second.url)), 'action=allow')));
      const third = await oauth.request(console);
      const inOther = await oauth.redeem(console, third, await oauth.authorize(elsewhere, third, whose));
      const [, ended] = (await oauth.shop.call(identity.listSessions, { username: whose.username }, manager)).filter(({ kind }) => kind === 'application');
      const head = await oauth.head();
      await oauth.shop.call(identity.endSession, { username: whose.username, sessionId: ended?.id ?? '' }, manager);
      expect(await oauth.revocations(head)).toEqual([`session:${ended?.id}`, `grant:${decodeJwt(inBrowser.access_token)['grant_id'] as string}`]);
      await expect(oauth.refresh(console, inBrowser.refresh_token ?? '')).rejects.toMatchObject(refused('invalid_grant'));
      await expect(oauth.refresh(console, inOther.refresh_token ?? '')).resolves.toBeDefined();
      await expect(oauth.refresh(client, onServer.refresh_token ?? '')).resolves.toBeDefined();
    });

    it('when the owner of its client is deleted', async () => {
      const owner = await oauth.shop.registerAndLogin();
      const both = await oauth.register({
        grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
        owner: owner.username,
      });
      const tokens = await oauth.tokens(both, user);
      const head = await oauth.head();
      await oauth.shop.call(identity.deleteUser, { username: owner.username }, manager);
      expect(await oauth.revocations(head)).toEqual([`client:${both.clientId}`, `user:${owner.userId}`]);
      await expect(oauth.refresh(both, tokens.refresh_token ?? '')).rejects.toBeDefined();
    });

    it('as the oldest of 101 grants of one user to one application (slow)', async () => {
      const whose = await oauth.shop.registerAndLogin();
      const own = await oauth.register();
      const grant = async (): Promise<{ refreshToken: string; id: unknown }> => {
        const request = await oauth.request(own);
        const tokens = await oauth.redeem(own, request, await oauth.authorize(oauth.browser(), request, whose));
        return { refreshToken: tokens.refresh_token ?? '', id: decodeJwt(tokens.access_token)['grant_id'] };
      };
      const oldest = await grant();
      await oauth.shop.sql.query(
        `INSERT INTO oauth_payloads (model, id_hash, payload, key_id, grant_id, user_id, client_id, expires_at)
         SELECT model, pg_catalog.sha256(n::text::bytea), payload, key_id, 'made ' || n, user_id, client_id, expires_at + interval '1 ms'
         FROM oauth_payloads, generate_series(1, 99) n WHERE model = 'Grant' AND user_id = $1`,
        [whose.userId],
      );
      const head = await oauth.head();
      const newest = await grant();
      expect(await oauth.revocations(head)).toEqual([`grant:${oldest.id as string}`]);
      await expect(oauth.refresh(own, oldest.refreshToken)).rejects.toMatchObject(refused('invalid_grant'));
      await expect(oauth.refresh(own, newest.refreshToken)).resolves.toBeDefined();
    });

    it('also when a password change races with login and consent (slow)', async () => {
      for (let round = 0; round < 8; round++) {
        const whose = await oauth.shop.registerAndLogin();
        const request = await oauth.request(client);
        const way = oauth.authorize(oauth.browser(), request, whose).catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, round * 15));
        const password = 'raced-password';
        await oauth.shop.call(identity.updateUser, { username: whose.username, user: { password } }, manager);
        const back = await way;
        if (!back?.searchParams.has('code')) continue;
        await expect(oauth.redeem(client, request, back)).rejects.toMatchObject(refused('invalid_grant'));
      }
    });
  });
});
