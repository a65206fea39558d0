import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { catalog, type Plant } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import { store } from '@plant-shop/contracts/store';
import { Page, Versioned } from '@plant-shop/platform/rpc/answer';
import { type Fake, fake } from '@plant-shop/service-testing/service';
import { publicUrl, type Replica, type Shop, startReplica, startShop, stopReplica } from '../gateway.spec.fixture.js';

/** A catalogue with stamps as the contract defines them. Reads are delayed by up to `jitterMs` before and after. */
class FakeCatalogue {
  readonly plants = new Map<number, { readonly plant: Plant; readonly version: number }>();
  jitterMs = 0;
  checks = 0;
  reads = 0;
  private readonly parts = Array.from({ length: 16 }, () => randomUUID());
  private all = randomUUID();

  write(id: number, version: number, name: string): void {
    this.plants.set(id, { version, plant: { id, name, photoUrls: [], tags: [], status: 'available', updatedAt: '2026-01-01T00:00:00.000Z' } });
    this.renewStamps(id);
  }

  delete(id: number): void {
    this.plants.delete(id);
    this.renewStamps(id);
  }

  fakes(): Fake[] {
    return [
      fake(catalog.readStamps, async () => {
        this.checks++;
        return this.delayed(() => [this.all, ...this.parts]);
      }),
      fake(catalog.getPlant, async ({ plantId }) => {
        this.reads++;
        return this.delayed(() => {
          const found = this.plants.get(plantId);
          if (!found) throw new DomainError('plant-not-found', `There is no plant ${plantId}.`);
          return new Versioned(found.plant, found.version, this.parts[plantId & 15]);
        });
      }),
      fake(catalog.findPlantsByStatus, async ({ limit = 1_000, cursor }) => {
        this.reads++;
        return this.delayed(() => {
          const plants = [...this.plants.values()].map(({ plant }) => plant).filter(({ id }) => id > Number(cursor ?? 0));
          const page = plants.slice(0, limit);
          return new Page(page, plants.length > limit ? String(page.at(-1)?.id) : undefined, this.all);
        });
      }),
    ];
  }

  private renewStamps(id: number): void {
    this.parts[id & 15] = randomUUID();
    this.all = randomUUID();
  }

  private async delayed<T>(read: () => T): Promise<T> {
    if (this.jitterMs > 0) await pause(Math.random() * this.jitterMs);
    const found = read();
    if (this.jitterMs > 0) await pause(Math.random() * this.jitterMs);
    return found;
  }
}

describe('cached reads', () => {
  let catalogue: FakeCatalogue;
  let inventory: { reads: number; available: number; jitterMs: number };
  let shop: Shop;
  let replica: Replica;

  beforeEach(async () => {
    catalogue = new FakeCatalogue();
    inventory = { reads: 0, available: 0, jitterMs: 0 };
    shop = await startShop(
      {
        catalog: catalogue.fakes(),
        store: [
          fake(store.readInventory, async () => {
            inventory.reads++;
            await pause(Math.random() * inventory.jitterMs);
            const { available } = inventory;
            await pause(Math.random() * inventory.jitterMs);
            return { available, pending: 0, sold: 0 };
          }),
        ],
      },
      { readCacheMib: 1 },
    );
    replica = await startReplica(shop.nats);
    shop.identity.addCredential('key', { kind: 'apiKey' });
  });
  afterEach(async () => {
    await stopReplica(replica);
    await shop.stop();
  });

  const urls = (): string[] => [shop.gateway.url, replica.gateway.url];
  const list = '/v3/plant/findByStatus?status=available';

  it('fetch a plant once, and then only revalidate it (slow)', async () => {
    catalogue.write(1, 1, 'Fern');
    const first = await shop.get('/v3/plant/1');
    for (let n = 0; n < 5; n++) {
      const again = await shop.get('/v3/plant/1');
      expect(await again.json()).toMatchObject({ name: 'Fern' });
      expect(again.headers.get('etag')).toBe(first.headers.get('etag'));
      expect(again.headers.get('content-type')).toBe('application/json; charset=utf-8');
    }
    expect({ reads: catalogue.reads, checks: catalogue.checks }).toEqual({ reads: 1, checks: 5 });
  });

  it('share checks among concurrent requests (slow)', async () => {
    catalogue.write(1, 1, 'Fern');
    await shop.get('/v3/plant/1');
    catalogue.jitterMs = 20;
    const answers = await Promise.all(Array.from({ length: 200 }, () => shop.get('/v3/plant/1')));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    // A generous bound: 200 connections are not opened at the same moment, least of all on a busy machine.
    expect(catalogue.checks).toBeLessThan(100);
    expect(catalogue.reads).toBe(1);
  });

  it('see each change at once, and fetch only what it affects (slow)', async () => {
    catalogue.write(1, 1, 'Fern');
    catalogue.write(2, 2, 'Ficus');
    for (const path of ['/v3/plant/1', '/v3/plant/2', list]) await shop.get(path);
    catalogue.write(1, 3, 'Fern again');
    const reads = catalogue.reads;
    expect(await (await shop.get('/v3/plant/1')).json()).toMatchObject({ name: 'Fern again' });
    expect(await (await shop.get('/v3/plant/2')).json()).toMatchObject({ name: 'Ficus' });
    expect(await (await shop.get(list)).json()).toMatchObject([{ name: 'Fern again' }, { name: 'Ficus' }]);
    expect(catalogue.reads - reads).toBe(2);
    catalogue.delete(1);
    expect((await shop.get('/v3/plant/1')).status).toBe(404);
    catalogue.write(1, 4, 'Fern reborn');
    expect(await (await shop.get('/v3/plant/1')).json()).toMatchObject({ name: 'Fern reborn' });
  });

  it('answer 304 if the client has the body (slow)', async () => {
    catalogue.write(1, 7, 'Fern');
    const etag = (await shop.get('/v3/plant/1')).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"7-\w{1,7}"$/);
    for (let n = 0; n < 2; n++) {
      expect((await shop.get('/v3/plant/1', { 'if-none-match': etag })).status).toBe(304);
      expect((await shop.get('/v3/plant/1', { 'if-none-match': etag.replace('7', '6') })).status).toBe(200);
      expect((await shop.get('/v3/plant/1', { 'if-none-match': '"7"' })).status).toBe(200);
    }
  });

  it('cache each page with its link to the next (slow)', async () => {
    for (let id = 1; id <= 3; id++) catalogue.write(id, id, `Plant ${id}`);
    for (let n = 0; n < 2; n++) {
      const first = await shop.get(`${list}&limit=2`);
      const next = /<(.*)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
      expect(await first.json()).toHaveLength(2);
      const second = await shop.get(next.replace(publicUrl, ''));
      expect(await second.json()).toMatchObject([{ id: 3 }]);
      expect(second.headers.get('link')).toBeNull();
    }
    expect(catalogue.reads).toBe(2);
  });

  it('answer HEAD without a body (slow)', async () => {
    catalogue.write(1, 1, 'Fern');
    for (let n = 0; n < 2; n++) {
      const head = await fetch(`${shop.gateway.url}/v3/plant/1`, { method: 'HEAD' });
      expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, expect.stringMatching(/^"1-/), '']);
    }
  });

  it('check credentials as uncached reads do (slow)', async () => {
    catalogue.write(1, 1, 'Fern');
    await shop.get('/v3/plant/1');
    expect((await shop.get('/v3/plant/1', { api_key: 'made-up' })).status).toBe(200);
    expect((await shop.get('/v3/store/inventory', { api_key: 'made-up' })).status).toBe(401);
    expect((await shop.get('/v3/store/inventory')).status).toBe(401);
  });

  it('fail with 503 if they cannot be revalidated (slow)', async () => {
    catalogue.write(1, 1, 'Fern');
    await shop.get('/v3/plant/1');
    await shop.stopFake('catalog');
    const refused = await shop.get('/v3/plant/1');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({ code: 'unavailable' });
    await shop.restartFake('catalog');
    expect((await shop.get('/v3/plant/1')).status).toBe(200);
  });

  it('have bounded memory: the least recently used are evicted (slow)', async () => {
    // Twice as much as the cache holds.
    const plants = 200;
    for (let id = 1; id <= plants; id++) catalogue.write(id, id, 'x'.repeat(10_000));
    for (let id = 1; id <= plants; id++) await shop.get(`/v3/plant/${id}`);
    const metric = async (of: string) =>
      (await shop.service.metrics.getSingleMetric(of)?.get())?.values[0]?.value ?? NaN;
    expect(await metric('read_cache_bytes')).toBeGreaterThan(0.9 * 1024 * 1024);
    expect(await metric('read_cache_bytes')).toBeLessThanOrEqual(1024 * 1024);
    expect(await metric('read_cache_answers')).toBeLessThan(plants / 2);
    const readsOf = async (id: number): Promise<number> => {
      const before = catalogue.reads;
      expect((await shop.get(`/v3/plant/${id}`)).status).toBe(200);
      return catalogue.reads - before;
    };
    expect({ latest: await readsOf(plants), first: await readsOf(1) }).toEqual({ latest: 0, first: 1 });
  });

  it('never return older data than any client has seen before, through two gateways (slow)', async () => {
    catalogue.jitterMs = 4;
    const ids = [1, 2, 17];
    // Per plant, the latest version that any client has seen, and the versions that were deletions.
    const latest = new Map(ids.map((id) => [id, 0]));
    const deletions = new Map(ids.map((id) => [id, [0]]));
    const stale: string[] = [];
    let version = 0;
    let writing = true;
    let reads = 0;

    const writer = async (id: number): Promise<void> => {
      // On a slow machine readers need longer.
      for (let n = 0; n < 120 || reads <= 300; n++) {
        const now = ++version;
        if (Math.random() < 0.25) {
          deletions.get(id)?.push(now);
          catalogue.delete(id);
        } else catalogue.write(id, now, `version ${now}`);
        // The writer's answer.
        latest.set(id, now);
        await pause(Math.random() * 15);
      }
    };
    /** Checks what a reader saw of a plant: its version, or undefined if it does not exist. */
    const check = (id: number, floor: number, seen: number | undefined, where: string): void => {
      const version = seen ?? deletions.get(id)?.find((deleted) => deleted >= floor) ?? -1;
      if (version < floor) stale.push(`${where}: plant ${id} at ${String(seen)} after ${floor}`);
      latest.set(id, Math.max(latest.get(id) ?? 0, version));
    };
    const versionIn = (plant: Plant | undefined): number | undefined => plant && Number(plant.name.replace('version ', ''));
    const reader = async (): Promise<void> => {
      while (writing) {
        const url = urls()[Math.floor(Math.random() * 2)] ?? '';
        const floors = new Map(latest);
        const isList = Math.random() < 0.5;
        const id = ids[Math.floor(Math.random() * ids.length)] ?? 1;
        const answer = await fetch(url + (isList ? list : `/v3/plant/${id}`));
        // An overloaded machine; a 503 is not stale.
        if (answer.status === 503) continue;
        reads++;
        if (isList) {
          const plants = (await answer.json()) as Plant[];
          for (const one of ids) check(one, floors.get(one) ?? 0, versionIn(plants.find((plant) => plant.id === one)), 'list');
        } else {
          const plant = answer.status === 404 ? undefined : ((await answer.json()) as Plant);
          check(id, floors.get(id) ?? 0, versionIn(plant), 'plant');
        }
      }
    };
    const readers = Array.from({ length: 24 }, reader);
    await Promise.all(ids.map(writer));
    writing = false;
    await Promise.all(readers);
    expect(stale).toEqual([]);
    expect(reads).toBeGreaterThan(300);
    // Otherwise the cache was not tested.
    expect(catalogue.reads).toBeLessThan(reads);
  }, 60_000);

  describe('of the inventory', () => {
    const read = async (url: string): Promise<number> =>
      ((await (await fetch(`${url}/v3/store/inventory`, { headers: { api_key: 'key' } })).json()) as { available: number }).available;

    it('are shared by concurrent requests (slow)', async () => {
      await read(shop.gateway.url);
      inventory.jitterMs = 20;
      inventory.reads = 0;
      await Promise.all(Array.from({ length: 200 }, () => read(shop.gateway.url)));
      expect(inventory.reads).toBeLessThan(100);
    });

    it('never return older data than any client has seen before, through two gateways', async () => {
      inventory.jitterMs = 4;
      let latest = 0;
      let writing = true;
      const stale: string[] = [];
      const reader = async (): Promise<void> => {
        while (writing) {
          const floor = latest;
          const seen = await read(urls()[Math.floor(Math.random() * 2)] ?? '');
          if (seen < floor) stale.push(`${seen} after ${floor}`);
          latest = Math.max(latest, seen);
        }
      };
      const readers = Array.from({ length: 16 }, reader);
      for (let n = 1; n <= 300; n++) {
        inventory.available = n;
        latest = n;
        await pause(Math.random() * 5);
      }
      writing = false;
      await Promise.all(readers);
      expect(stale).toEqual([]);
    }, 30_000);
  });
});
