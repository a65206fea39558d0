import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog, type ImportLineResult } from '@plant-shop/contracts/catalog';
import type { RpcClient } from '@plant-shop/platform/rpc/client';
import { atEveryPoint, type CrashTestbed, crashTestTimeoutMs } from '@plant-shop/service-testing/crash/every-point';
import { contextFor } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { CatalogFixture } from '../catalog.spec.fixture.js';
import { StockIntentsService } from '../plants/stock-intents.service.js';

const staff = { subject: 'user-1', permissions: ['write:plants', 'write:stock'], shown: [] };

describe('wherever an import is killed', () => {
  let shop: CatalogFixture;
  let testbed: CrashTestbed;
  beforeAll(async () => {
    shop = await CatalogFixture.start({ replicas: 0 });
    testbed = await shop.crashTestbed();
  });
  afterAll(async () => {
    await testbed.stop();
    await shop.stop();
  });

  const importBy = (client: RpcClient, lines: readonly string[], withinMs = 10_000): Promise<ImportLineResult[]> =>
    client.call(catalog.importPlants, { lines: [...lines] }, contextFor(staff, withinMs));

  let given = 0;
  it('repeating it has the result of one complete import, with plants that can be ordered', async () => {
    await atEveryPoint(testbed, {
      name: 'import plants',
      minCalls: 12,
      given: async () => {
        const from = 10_000 + 100 * given++;
        const plants = Array.from({ length: 4 }, (_, n) => ({ id: from + n, name: `Imported ${from}`, tags: [{ name: `of ${from}` }], quantity: 3 }));
        await importBy(shop.caller.client, [JSON.stringify({ ...plants[0], name: 'Before', status: 'sold' })]);
        return plants.map((one) => JSON.stringify({ ...one, status: 'available' }));
      },
      when: (victim, lines, withinMs) => importBy(victim.caller, lines, withinMs),
      eventually: async (lines) => {
        await shop.database.query('UPDATE stock_intents SET next_try_at = now()');
        const again = await importBy(shop.caller.client, lines);
        expect(again.every((one) => 'result' in one)).toBe(true);
        expect((await importBy(shop.caller.client, lines)).map((one) => 'result' in one && one.result)).toEqual(lines.map(() => 'unchanged'));
        for (const { id, name } of lines.map((one) => JSON.parse(one) as { id: number; name: string })) {
          expect(await shop.caller.call(catalog.getPlant, { plantId: id })).toMatchObject({ id, name, status: 'available' });
          expect(shop.store.stock.get(id)).toMatchObject({ listing: 'available', units: 3 });
        }
        testbed.survivor.app.get(StockIntentsService).notify();
        await until(async () => (await shop.database.query('SELECT 1 FROM stock_intents')).length === 0);
        expect(await shop.disagreements()).toEqual([]);
      },
    });
  }, crashTestTimeoutMs);
});
