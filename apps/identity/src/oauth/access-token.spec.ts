import { describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createAccessTokenVerifier, apiResource, toOpaque } from './access-token.js';

const publicUrl = 'http://shop.test';

describe('verifying an access token', () => {
  it.each([-600_000, 0, 600_000])("uses the database's clock, not this host's, %d ms apart, and names all that ends the token", async (skew) => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await exportJWK(privateKey)), kid: 'one', alg: 'ES256' };
    let now = Date.now() + skew;
    const verify = createAccessTokenVerifier(publicUrl, { signingKid: 'one', jwks: [jwk] }, () => now);
    const exp = Math.floor(now / 1_000) + 60;
    const claims = { iss: publicUrl, aud: apiResource(publicUrl), jti: 'j', client_id: 'c', sub: 's', iat: exp - 3_600, exp };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'at+jwt' })
      .sign(privateKey);
    await expect(verify(toOpaque(token))).resolves.toMatchObject({
      payload: { jti: 'j', exp },
      revokedBy: [{ kind: 'accessToken', id: 'j' }, { kind: 'signingKey', id: 'one' }, { kind: 'client', id: 'c' }, { kind: 'user', id: 's' }],
    });
    now += 60_000;
    await expect(verify(toOpaque(token))).resolves.toBeUndefined();
  });
});
