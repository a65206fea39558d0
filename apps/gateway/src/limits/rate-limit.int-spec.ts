import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { echoes, type Shop, startShop } from '../gateway.spec.fixture.js';

describe('the rate limit at the gateway', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop(echoes, { rateLimitPerMinute: 3 });
    shop.identity.know('key', { kind: 'apiKey' });
    shop.identity.know('other-key', { kind: 'apiKey' });
  });
  afterAll(() => shop.stop());

  it('counts per credential, and tells how much is left', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) statuses.push((await shop.get('/v3/store/inventory', { api_key: 'key' })).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const response = await shop.get('/v3/store/inventory', { api_key: 'key' });
    expect(await response.json()).toMatchObject({ code: 'too-many-requests', status: 429 });
    expect(response.headers.get('ratelimit-policy')).toBe('"requests";q=3;w=60');
    expect(response.headers.get('ratelimit')).toMatch(/^"requests";r=0;t=\d+$/);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await shop.get('/v3/store/inventory', { api_key: 'other-key' })).status).toBe(200);
  });

  it('counts guesses by where they come from, and asks identity about no more of them', async () => {
    const guess = async (n: number): Promise<number> => (await shop.get('/v3/store/inventory', { api_key: `guess-${n}` })).status;
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) statuses.push(await guess(n));
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    const { checks } = shop.identity;
    await guess(6);
    expect(shop.identity.checks).toBe(checks);
    expect((await shop.get('/v3/store/inventory', { api_key: 'other-key' })).status).toBe(200);
    expect((await shop.get('/v3/plant/1')).status).toBe(429);
    // A session that is to end is looked for, too.
    expect((await shop.get('/v3/user/logout', { session_token: 'guess' })).status).toBe(429);
  });

  it('does not count health', async () => {
    for (let n = 0; n < 5; n++) expect((await shop.get('/livez')).status).toBe(200);
  });
});
