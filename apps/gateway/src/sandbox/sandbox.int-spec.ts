import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { store } from '@plant-shop/contracts/store';
import { fake } from '@plant-shop/service-testing/service';
import { type Shop, startShop } from '../gateway.spec.fixture.js';

const paths = ['/v3/test/clock', '/v3/test/events'];

describe.each([true, false])('a shop whose SANDBOX is %s', (sandbox) => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({ store: [fake(store.advanceClock), fake(store.sendTestEvent)], notifications: [fake(notifications.advanceClock)] }, { sandbox });
  });
  afterAll(() => shop.stop());

  it('has test operations only as a sandbox', async () => {
    for (const path of paths) expect((await shop.send('POST', path, {})).status).toBe(sandbox ? 401 : 404);
  });

  it('names its mode in every answer only as a sandbox, also in errors', async () => {
    for (const path of ['/livez', '/v3/nothing', '/v3/plant/x', '/%']) {
      expect((await shop.get(path)).headers.get('x-shop-mode')).toBe(sandbox ? 'sandbox' : null);
    }
  });

  it('describes what it has', async () => {
    const document = (await (await shop.get('/v3/openapi.json')).json()) as { paths: object };
    for (const path of paths) expect(path.slice('/v3'.length) in document.paths).toBe(sandbox);
  });
});
