import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { notifications } from '@plant-shop/contracts/notifications';
import { permissions } from '@plant-shop/contracts/permissions';
import { store } from '@plant-shop/contracts/store';
import { fake } from '@plant-shop/service-testing/service';
import { type Shop, startShop } from '../gateway.spec.fixture.js';

const paths = ['/v3/test/clock', '/v3/test/events', '/v3/test/reset'];

describe.each([true, false])('a shop whose SANDBOX is %s', (sandbox) => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop(
      {
        store: [fake(store.advanceClock), fake(store.sendTestEvent), fake(store.resetSandbox)],
        notifications: [fake(notifications.advanceClock), fake(notifications.resetSandbox)],
        identity: [fake(identity.advanceClock)],
      },
      { sandbox },
    );
    shop.identity.addCredential('admin-key', { kind: 'apiKey', permissions: [...permissions] });
    shop.identity.addCredential('staff-key', { kind: 'apiKey', permissions: permissions.filter((one) => one !== 'write:users') });
  });
  afterAll(() => shop.stop());

  it('has test operations only as a sandbox', async () => {
    const body = (path: string) => (path.endsWith('clock') ? { advanceSeconds: 1 } : path.endsWith('events') ? { type: 'stock.out' } : undefined);
    for (const path of paths) {
      const as = async (headers: Record<string, string>): Promise<number> => (await shop.send('POST', path, body(path), headers)).status;
      expect({ path, statuses: [await as({}), await as({ api_key: 'staff-key' }), await as({ api_key: 'admin-key' })] }).toEqual({
        path,
        statuses: sandbox ? [401, 403, 200] : [404, 404, 404],
      });
    }
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
