import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { permissions } from '@plant-shop/contracts/permissions';
import { until } from '@plant-shop/testing/until';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { echoes, publicUrl, type Shop, startShop, userId } from '../gateway.spec.fixture.js';

const tenMinutes = 600_000;

describe("credentials while the gateway's clock differs from identity's", () => {
  let shop: Shop;
  let key: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];
  let tokens = 0;
  beforeAll(async () => {
    shop = await startShop(echoes);
    const pair = await generateKeyPair('ES256', { extractable: true });
    key = pair.privateKey;
    shop.identity.signingKeys = [{ ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }];
    shop.identity.subjects.set(userId(1), permissions);
  });
  afterAll(() => shop.stop());

  /** Steps identity's clock and waits for a pull of the revocation log, by which the gateway notices. */
  const setIdentityAhead = async (ms: number): Promise<void> => {
    shop.identity.clockAheadMs = ms;
    await pause(600);
  };
  /** Issues a token by identity's clock. */
  const token = (seconds: number): Promise<string> => {
    const iat = Math.floor(shop.identity.time() / 1_000);
    return new SignJWT({ iss: publicUrl, aud: `${publicUrl}/v3`, sub: userId(1), jti: `jti-${++tokens}`, client_id: 'c', scope: permissions.join(' '), iat, exp: iat + seconds })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'one' })
      .sign(key);
  };
  const status = async (headers: Record<string, string>): Promise<number> => (await shop.send('POST', '/v3/plant', { name: 'Fern' }, headers)).status;
  const bearer = async (seconds: number): Promise<Record<string, string>> => ({ authorization: `Bearer ${await token(seconds)}` });
  const newKey = (inMs: number): Record<string, string> => {
    const secret = `key-${++tokens}`;
    shop.identity.addCredential(secret, { kind: 'apiKey', expiresAt: new Date(shop.identity.time() + inMs).toISOString() });
    return { api_key: secret };
  };

  describe.each([-tenMinutes, tenMinutes])('with identity %d ms ahead', (ahead) => {
    beforeAll(() => setIdentityAhead(ahead));

    it("are accepted until they expire by identity's clock, and refused within a second after", async () => {
      const presented = [await bearer(3), newKey(2_500)];
      const startedAt = performance.now();
      const lived = presented.map(async (headers) => {
        const statuses = new Set<number>();
        await until(async () => !statuses.add(await status(headers)).has(200) || statuses.size > 1);
        expect([...statuses]).toEqual([200, 401]);
        return performance.now() - startedAt;
      });
      for (const ms of await Promise.all(lived)) {
        // A token expires at a whole second.
        expect(ms).toBeGreaterThan(1_900);
        expect(ms).toBeLessThan(4_000);
      }
    });

    it('are accepted when just issued, and checked once', async () => {
      expect(await status(await bearer(3_600))).toBe(200);
      expect(await status(await bearer(tenMinutes / 1_000))).toBe(200);
      const headers = newKey(tenMinutes);
      const { checks } = shop.identity;
      for (let n = 0; n < 5; n++) expect(await status(headers)).toBe(200);
      expect(shop.identity.checks).toBe(checks + 1);
    });
  });

  it('are not refused while the clock steps', async () => {
    await setIdentityAhead(0);
    const presented = [await bearer(3_600), newKey(2 * 3_600_000)];
    const statuses = new Map<number, number>();
    for (const step of [tenMinutes, -tenMinutes, 5_000, -5_000, 0]) {
      shop.identity.clockAheadMs = step;
      const until = performance.now() + 700;
      while (performance.now() < until) {
        for (const one of await Promise.all(presented.map(status))) statuses.set(one, (statuses.get(one) ?? 0) + 1);
      }
    }
    expect([...statuses.keys()]).toEqual([200]);
  });
});
