import { describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { accessTokenReader, resourceOf, unstructured } from './access-token.js';

const publicUrl = 'http://shop.test';

describe('an access token that is shown to identity', () => {
  it.each([-600_000, 0, 600_000])("ends by the database's clock, not by this host's: %d ms apart", async (skew) => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await exportJWK(privateKey)), kid: 'one', alg: 'ES256' };
    let now = Date.now() + skew;
    const read = accessTokenReader(publicUrl, { signingKid: 'one', jwks: [jwk] }, () => now);
    const exp = Math.floor(now / 1_000) + 60;
    const token = await new SignJWT({ iss: publicUrl, aud: resourceOf(publicUrl), jti: 'j', client_id: 'c', sub: 's', iat: exp - 3_600, exp })
      .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'at+jwt' })
      .sign(privateKey);
    await expect(read(unstructured(token))).resolves.toMatchObject({ payload: { jti: 'j', exp } });
    now += 60_000;
    await expect(read(unstructured(token))).resolves.toBeUndefined();
  });
});
