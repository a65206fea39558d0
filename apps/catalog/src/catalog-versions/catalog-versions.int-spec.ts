import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog } from '@plant-shop/contracts/catalog';
import type { RawAnswer } from '@plant-shop/platform/rpc/client';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import { sampleOf, shapeOf } from '@plant-shop/service-testing/samples';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { until } from '@plant-shop/testing/until';
import { CatalogFixture, outcomeOf } from '../catalog.spec.fixture.js';
import { loseAnswer } from '../store.fake.js';

describe('versions of the catalogue', () => {
  let shop: CatalogFixture;
  beforeAll(async () => {
    shop = await CatalogFixture.start({ replicas: 2 });
  });
  afterAll(() => shop.stop());

  const current = () => shop.caller.call(catalog.readStamps, {});
  const bytesOf = ({ payload }: RawAnswer): string => Buffer.from(payload).toString();
  const stampOf = async (operation: Operation<unknown, unknown>, payload: unknown) => (await shop.raw(operation, payload)).stamp!;
  const ofPlant = (plantId: number) => stampOf(catalog.getPlant, { plantId });
  const ofList = () => stampOf(catalog.findPlantsByStatus, { status: ['pending'], limit: 1 });
  /** Creates two plants in different parts of the catalogue. */
  const twoPlants = async () => {
    const [a, b] = [await shop.create(), await shop.create()];
    expect(await ofPlant(a.id)).not.toBe(await ofPlant(b.id));
    return [a, b] as const;
  };

  it('are answered as in the contract, and include those of other answers', async () => {
    const stamps = await current();
    expect(shapeOf(stamps)).toEqual(shapeOf(sampleOf(catalog.readStamps).answer));
    expect(new Set(stamps).size).toBe(17);
    const { id } = await shop.create({ tags: [{ id: 1, name: 'stamped' }] });
    const now = await current();
    expect(now).toContain(await ofPlant(id));
    expect(await ofList()).toBe(now[0]);
    expect(await stampOf(catalog.findPlantsByTags, { tags: ['stamped'] })).toBe(now[0]);
  });

  it('come with an empty list too', async () => {
    expect(await current()).toContain(await stampOf(catalog.findPlantsByTags, { tags: ['unused'] }));
  });

  it('stay the same while nothing changes, whatever is read or refused', async () => {
    const [plant] = await twoPlants();
    const before = await current();
    await shop.caller.call(catalog.beginImage, { plantId: plant.id });
    expect(await outcomeOf(shop.caller.call(catalog.changePlant, { plantId: plant.id, name: 'x', ifVersion: 1 }))).toBe('precondition-failed');
    expect(await outcomeOf(shop.create({ id: plant.id }))).toBe('plant-exists');
    expect(await current()).toEqual(before);
  });

  describe('have changed when the answer says that a plant', () => {
    /** Expects that `change` replaces the versions of the plant's part and of the whole catalogue, but not that of another part. */
    async function replacesVersions(change: (plantId: number) => Promise<unknown>): Promise<void> {
      const [plant, other] = await twoPlants();
      const [own, list, others] = [await ofPlant(plant.id), await ofList(), await ofPlant(other.id)];
      await change(plant.id);
      const now = await current();
      expect(now).not.toContain(own);
      expect(now).not.toContain(list);
      expect(now).toContain(others);
    }

    it('was created', async () => {
      const before = await current();
      await shop.create();
      const now = await current();
      expect(now.filter((stamp) => !before.includes(stamp))).toHaveLength(2);
    });

    it('was replaced', () => replacesVersions((id) => shop.caller.call(catalog.replacePlant, { plant: { id, name: 'Ficus' } })));

    it('was changed', () => replacesVersions((plantId) => shop.caller.call(catalog.changePlant, { plantId, name: 'Ficus' })));

    it('changed its status', () => replacesVersions((plantId) => shop.caller.call(catalog.changePlant, { plantId, status: 'sold' })));

    it('was deleted', () => replacesVersions((plantId) => shop.caller.call(catalog.deletePlant, { plantId })));

    it('was deleted later, by the loop of intents (slow)', () =>
      replacesVersions(async (plantId) => {
        shop.store.interceptNext('retirePlant', loseAnswer);
        expect(await outcomeOf(shop.caller.call(catalog.deletePlant, { plantId }))).toBe('outcome-unknown');
        await until(async () => (await outcomeOf(shop.caller.call(catalog.getPlant, { plantId }))) === 'plant-not-found', 15_000);
      }));

    it('got a photograph', () =>
      replacesVersions(async (plantId) => {
        const { uploadId } = await shop.caller.call(catalog.beginImage, { plantId });
        const picture = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]);
        await shop.caller.call(catalog.writeImageChunk, { uploadId, index: 0, data: picture.toString('base64') });
        await shop.caller.call(catalog.finishImage, { uploadId });
      }));

    it('got a version beyond the one that the store knows', () =>
      replacesVersions(async (plantId) => {
        const row = shop.store.stock.get(plantId)!;
        Object.assign(row, { listing: 'sold', listingVersion: row.listingVersion + 1_000 });
        await shop.caller.call(catalog.raiseNumbers, {});
        await shop.caller.call(catalog.reconcilePlants, { after: plantId - 1, limit: 1 });
      }));

    it('was deleted again because the store has retired it', () =>
      replacesVersions(async (plantId) => {
        shop.store.stock.get(plantId)!.listing = 'retired';
        await shop.caller.call(catalog.reconcilePlants, { after: plantId - 1, limit: 1 });
        expect(await outcomeOf(shop.caller.call(catalog.getPlant, { plantId }))).toBe('plant-not-found');
      }));

    it('was changed by SQL', () =>
      replacesVersions((id) => shop.database.query('UPDATE plants SET name = $2 WHERE id = $1', [id, 'Ficus'])));
  });

  it('are drawn once per part, however many plants one transaction changes (slow)', async () => {
    for (let n = 0; n < 40; n++) await shop.create();
    await shop.database.transaction(async (tx) => {
      // Postgres also counts updates of earlier transactions of this connection that it has not yet reported.
      const countDrawn = async (): Promise<number> => {
        const drawn = `SELECT n_tup_upd::integer AS drawn FROM pg_stat_xact_user_tables WHERE relname = 'catalogue_stamps'`;
        return onlyRow(await tx.query<{ drawn: number }>(drawn)).drawn;
      };
      const before = await countDrawn();
      await tx.execute('SET CONSTRAINTS ALL IMMEDIATE');
      for (let n = 0; n < 2; n++) await tx.execute('UPDATE plants SET created_at = created_at');
      expect((await countDrawn()) - before).toBe(16);
    });
  });

  it('each stand for one content, whatever is written and read concurrently (slow)', async () => {
    const ids = Array.from({ length: 6 }, (_, n) => 5_000 + n * 16);
    for (const id of ids) await shop.create({ id, status: 'sold' });
    const seen = new Map<string, string>();
    const wrong: string[] = [];
    let writing = true;
    const note = (what: string, answer: RawAnswer): void => {
      const key = `${what} ${answer.stamp}`;
      const before = seen.get(key);
      if (before !== undefined && before !== bytesOf(answer)) wrong.push(`${key}: ${before} and ${bytesOf(answer)}`);
      seen.set(key, bytesOf(answer));
    };
    const reader = async (): Promise<void> => {
      while (writing) {
        for (const id of ids) note(`plant ${id}`, await shop.raw(catalog.getPlant, { plantId: id }));
        note('list', await shop.raw(catalog.findPlantsByStatus, { status: ['sold'] }));
      }
    };
    const writer = async (own: readonly number[]): Promise<void> => {
      for (let n = 0; n < 40; n++) {
        for (const id of own) {
          const [before, list] = [await ofPlant(id), await ofList()];
          await shop.caller.call(catalog.changePlant, { plantId: id, name: `Name ${n}` });
          const now = await current();
          if (now.includes(before) || now.includes(list)) wrong.push(`${id}: a version from before its change`);
        }
      }
    };
    const readers = [reader(), reader(), reader()];
    await Promise.all(ids.map((id) => writer([id])));
    writing = false;
    await Promise.all(readers);
    expect(wrong).toEqual([]);
    expect(seen.size).toBeGreaterThan(100);
  });

  it('of a restored database stand for the content of the backup, and never for later content (slow)', async () => {
    const { id } = await shop.create({ name: 'before' });
    const atBackup = await current();
    await shop.database.query('CREATE TABLE backup_plants AS SELECT * FROM plants WHERE id = ' + String(id));
    await shop.database.query('CREATE TABLE backup_stamps AS SELECT * FROM catalogue_stamps');
    const lost = new Set<string>();
    const rename = async (name: string): Promise<void> => {
      await shop.caller.call(catalog.changePlant, { plantId: id, name });
      for (const stamp of [await ofPlant(id), await ofList()]) lost.add(stamp);
    };
    for (let n = 0; n < 20; n++) await rename(`lost ${n}`);
    await shop.database.transaction(async (tx) => {
      await tx.execute(`SET LOCAL session_replication_role = 'replica'`);
      await tx.execute('UPDATE plants SET name = b.name, version = b.version FROM backup_plants b WHERE plants.id = b.id');
      await tx.execute('UPDATE catalogue_stamps SET stamp = b.stamp FROM backup_stamps b WHERE catalogue_stamps.part = b.part');
    });
    // In no particular order.
    expect(new Set(await current())).toEqual(new Set(atBackup));
    for (let n = 0; n < 20; n++) {
      await shop.caller.call(catalog.changePlant, { plantId: id, name: `new ${n}` });
      for (const stamp of await current()) expect(lost.has(stamp)).toBe(false);
    }
  });
});
