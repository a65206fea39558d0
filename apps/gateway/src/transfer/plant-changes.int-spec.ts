import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { catalog, type PlantChanges } from '@plant-shop/contracts/catalog';
import { fake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { type Shop, startShop } from '../gateway.spec.fixture.js';

/** Longer than a wait takes to notice a change, and shorter than the waits of these tests. */
const soonMs = 5_000;

describe('waiting for changes of plants', () => {
  let shop: Shop;
  let changed: number[];
  let stamp: string;
  let asked: unknown[];
  let checks: number;
  /** Runs in the catalog while it reads the changes. */
  let duringRead: () => void;

  beforeEach(async () => {
    [changed, stamp, asked, checks, duringRead] = [[], 'first', [], 0, () => undefined];
    shop = await startShop({
      catalog: [
        fake(catalog.readStamps, () => {
          checks++;
          return [stamp];
        }),
        fake(catalog.listPlantChanges, (request) => {
          asked.push(JSON.parse(JSON.stringify(request)));
          const answer = { changes: changed.map((id) => ({ id, deleted: true as const })), cursor: `after ${changed.length}` };
          duringRead();
          return answer;
        }),
      ],
    });
  });
  afterEach(() => shop.stop());

  const change = (id: number): void => {
    changed.push(id);
    stamp = `changed ${changed.length}`;
  };
  const ask = async (query: string): Promise<{ status: number; body: PlantChanges; ms: number }> => {
    const begun = performance.now();
    const response = await shop.get(`/v3/plant/changes${query}`);
    return { status: response.status, body: (await response.json()) as PlantChanges, ms: performance.now() - begun };
  };
  const none = { changes: [], cursor: 'after 0' };

  it('is not done unless it is asked for, nor if there are changes already (slow)', async () => {
    expect((await ask('')).body).toEqual(none);
    expect((await ask('?cursor=c&wait=0&limit=7')).body).toEqual(none);
    expect(asked).toEqual([{}, { cursor: 'c', limit: 7 }]);
    expect(checks).toBe(0);
    change(7);
    const { body, ms } = await ask('?cursor=c&wait=30');
    expect(body.changes).toEqual([{ id: 7, deleted: true }]);
    expect(ms).toBeLessThan(soonMs);
  });

  it('ends with the first change, for all that wait, and asks the catalog for nothing but its versions until then (slow)', async () => {
    const answers = Promise.all(Array.from({ length: 20 }, () => ask('?cursor=c&wait=30')));
    await until(async () => asked.length === 20 && checks > 3);
    await pause(1_000);
    expect(asked).toHaveLength(20);
    change(8);
    for (const { status, body, ms } of await answers) {
      expect({ status, body }).toEqual({ status: 200, body: { changes: [{ id: 8, deleted: true }], cursor: 'after 1' } });
      expect(ms).toBeLessThan(1_000 + soonMs);
    }
  });

  it('notices a change between the read and the wait (slow)', async () => {
    duringRead = () => {
      duringRead = () => undefined;
      change(9);
    };
    const { body, ms } = await ask('?wait=30');
    expect(body.changes).toEqual([{ id: 9, deleted: true }]);
    expect(ms).toBeLessThan(soonMs);
  });

  it('ends without one after the given time (slow)', async () => {
    const { status, body, ms } = await ask('?wait=1');
    expect({ status, body }).toEqual({ status: 200, body: none });
    expect(ms).toBeGreaterThan(900);
  });

  it('ends when the gateway stops, and when the client leaves', async () => {
    const leaving = new AbortController();
    const left = fetch(`${shop.gateway.url}/v3/plant/changes?wait=30`, { signal: leaving.signal }).catch(() => 'left');
    const staying = ask('?wait=30');
    await until(async () => asked.length === 2);
    leaving.abort();
    expect(await left).toBe('left');
    void shop.service.stop();
    const { status, body, ms } = await staying;
    expect({ status, body }).toEqual({ status: 200, body: none });
    // The last read of the one that stayed; for the one that left, nothing is read any more.
    expect(asked.length).toBe(3);
    expect(ms).toBeLessThan(soonMs);
  });

  it('takes at most 30 seconds', async () => {
    for (const wait of ['31', '-1', '1.5', 'x', '']) expect((await ask(`?wait=${wait}`)).status).toBe(400);
    expect((await shop.get('/v3/plant/changes?wiat=1')).status).toBe(400);
  });
});
