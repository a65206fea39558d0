import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { TestOAuth } from './oauth.spec.fixture.js';

describe('OAuth 2.0 authorization code', () => {
  let oauth: TestOAuth;
  beforeAll(async () => {
    oauth = await TestOAuth.start();
  });
  afterAll(() => oauth.shop.stop());

  it('leads over login and consent to tokens that act for the user', async () => {
    const client = await oauth.register();
    const user = await oauth.shop.enter();
    const asked = await oauth.request(client, { scope: 'write:orders webhooks' });
    const back = await oauth.authorize(oauth.browser(), asked, user);
    expect(back.searchParams.get('iss')).toBe('http://shop.test');
    const tokens = await oauth.redeem(client, asked, back);
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'write:orders webhooks' });
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      iss: 'http://shop.test',
      aud: 'http://shop.test/v3',
      sub: user.userId,
      client_id: client.clientId,
      scope: 'write:orders webhooks',
      grant_id: expect.any(String),
      secret_id: expect.any(String),
    });
    const next = await oauth.refresh(client, tokens.refresh_token ?? '');
    expect(next.refresh_token).not.toBe(tokens.refresh_token);
    expect(await oauth.introspect(client, next.access_token)).toMatchObject({ active: true, sub: user.userId });
  });
});
