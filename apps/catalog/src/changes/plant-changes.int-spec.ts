import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog, type PlantChanges } from '@plant-shop/contracts/catalog';
import { CatalogFixture, outcomeOf } from '../catalog.spec.fixture.js';
import { PlantChangesService } from './plant-changes.js';

describe('the changes of plants', () => {
  let shop: CatalogFixture;
  beforeAll(async () => {
    shop = await CatalogFixture.start({ replicas: 2 });
  });
  afterAll(() => shop.stop());

  const read = (cursor?: string, limit?: number): Promise<PlantChanges> =>
    shop.caller.call(catalog.listPlantChanges, { ...(cursor !== undefined && { cursor }), ...(limit !== undefined && { limit }) });
  /** Reads until there are no further changes. */
  const follow = async (from?: string, limit?: number): Promise<{ ids: number[]; cursor: string; pages: number }> => {
    const ids: number[] = [];
    for (let cursor = from, pages = 1; ; pages++) {
      const page = await read(cursor, limit);
      ids.push(...page.changes.map(({ id }) => id));
      if (page.changes.length === 0) return { ids, cursor: page.cursor, pages };
      ({ cursor } = page);
    }
  };
  const head = async (): Promise<string> => (await follow()).cursor;
  const rename = (plantId: number, name: string) => shop.caller.call(catalog.changePlant, { plantId, name });
  const service = () => new PlantChangesService(shop.database);
  /** Moves the time at which changes were numbered. */
  const age = (days: number) => shop.database.query(`UPDATE plant_change_steps SET numbered_at = numbered_at - $1 * interval '1 day'`, [days]);
  const forgetAll = async (): Promise<void> => {
    while ((await service().forget()) > 0);
  };

  it('are every plant from the beginning, and then each changed one once, as it is now', async () => {
    const [a, b, c] = [await shop.create(), await shop.create(), await shop.create()];
    const start = await follow();
    expect(start.ids).toEqual(expect.arrayContaining([a.id, b.id, c.id]));
    expect(await read(start.cursor)).toEqual({ changes: [], cursor: start.cursor });
    await rename(b.id, 'First');
    await rename(a.id, 'Other');
    const last = await rename(b.id, 'Last');
    await shop.caller.call(catalog.deletePlant, { plantId: c.id });
    const { changes, cursor } = await read(start.cursor);
    expect(changes).toEqual([expect.objectContaining({ id: a.id, name: 'Other' }), last, { id: c.id, deleted: true }]);
    expect(await read(cursor)).toEqual({ changes: [], cursor });
    const reborn = await shop.create({ id: c.id });
    expect((await read(cursor)).changes).toEqual([reborn]);
  });

  it('have pages that end after the limit, and at about 512 KiB (slow)', async () => {
    const cursor = await head();
    const ids: number[] = [];
    for (let n = 0; n < 7; n++) ids.push((await shop.create()).id);
    expect(await follow(cursor, 3)).toMatchObject({ ids, pages: 4 });
    const big = Array.from({ length: 64 }, (_, n) => `https://photos.test/${'x'.repeat(2_000)}${n}`);
    for (const id of ids) await shop.caller.call(catalog.replacePlant, { plant: { id, name: 'Big', photoUrls: big } });
    expect(await follow(cursor)).toMatchObject({ ids, pages: 3 });
  });

  it('include one whose writer commits after others that began later (slow)', async () => {
    const cursor = await head();
    let committed = (): void => undefined;
    const mayCommit = new Promise<void>((resolve) => (committed = resolve));
    const [late, early] = [await shop.create(), await shop.create()];
    const began = await head();
    let isWritten = (): void => undefined;
    const written = new Promise<void>((resolve) => (isWritten = resolve));
    const writer = shop.database.transaction(async (tx) => {
      await tx.execute(`UPDATE plants SET name = 'Late', version = nextval('plant_versions') WHERE id = $1`, [late.id]);
      isWritten();
      await mayCommit;
    });
    await written;
    await rename(early.id, 'Early');
    const first = await follow(began);
    expect(first.ids).toEqual([early.id]);
    // Its earlier change stays where it was.
    expect((await follow(cursor)).ids).toEqual([late.id, early.id]);
    committed();
    await writer;
    expect((await read(first.cursor)).changes).toMatchObject([{ id: late.id, name: 'Late' }]);
  });

  it('wait for no writer, also of a plant with a change that has no number', async () => {
    const plant = await shop.create();
    let end = (): void => undefined;
    const mayEnd = new Promise<void>((resolve) => (end = resolve));
    let isWritten = (): void => undefined;
    const written = new Promise<void>((resolve) => (isWritten = resolve));
    const cursor = await head();
    await rename(plant.id, 'Committed');
    const aborted = shop.database.transaction(async (tx) => {
      await tx.execute(`UPDATE plants SET name = 'Aborted' WHERE id = $1`, [plant.id]);
      isWritten();
      await mayEnd;
      throw new Error('aborted');
    });
    await written;
    expect(await read(cursor)).toEqual({ changes: [], cursor });
    end();
    await expect(aborted).rejects.toThrow('aborted');
    expect((await read(cursor)).changes).toMatchObject([{ id: plant.id, name: 'Committed' }]);
  });

  it('miss nothing, whatever is written and read concurrently (slow)', async () => {
    const ids = Array.from({ length: 12 }, (_, n) => 70_000 + n);
    for (const id of ids) await shop.create({ id });
    const begin = await head();
    let writing = true;
    /** What was written by answered requests, in their order. */
    const counts = new Map<number, number>(ids.map((id) => [id, 0]));
    const changing = new Set<number>();
    const writers = [0, 1, 2, 3].map(async (k) => {
      for (let n = 1; n <= 25; n++) {
        for (const id of ids.filter((one) => one % 4 === k)) {
          changing.add(id);
          await rename(id, `Name ${n}`);
          counts.set(id, n);
          changing.delete(id);
        }
      }
    });
    const reader = async (): Promise<Map<number, string>> => {
      const copy = new Map<number, string>();
      for (let cursor = begin, isOver = false; ; ) {
        const wasWriting = writing;
        const before = new Map(counts);
        const page = await read(cursor, 5);
        ({ cursor } = page);
        for (const change of page.changes) if ('name' in change) copy.set(change.id, change.name);
        // An empty page says that the copy has all that was committed before the request, except of plants that were being changed.
        const unchanged = [...before].filter(([id, n]) => n > 0 && counts.get(id) === n && !changing.has(id));
        if (page.changes.length === 0) for (const [id, n] of unchanged) expect([id, copy.get(id)]).toEqual([id, `Name ${n}`]);
        if (isOver && page.changes.length === 0) return copy;
        isOver = !wasWriting;
      }
    };
    const readers = [reader(), reader(), reader()];
    await Promise.all(writers);
    writing = false;
    for (const copy of await Promise.all(readers)) expect([...copy.values()]).toEqual(ids.map(() => 'Name 25'));
  });

  it('of a deleted plant are kept for 30 days; then an older cursor is too old, and a new reader misses nothing (slow)', async () => {
    const [gone, kept] = [await shop.create(), await shop.create()];
    const before = await head();
    await shop.caller.call(catalog.deletePlant, { plantId: gone.id });
    const after = await head();
    await age(29);
    await rename(kept.id, 'Later');
    await head();
    await forgetAll();
    expect((await read(before)).changes).toContainEqual({ id: gone.id, deleted: true });
    await age(2);
    // Begins among plants whose numbers are old, and goes on through the forgetting.
    const first = await read(undefined, 1);
    await rename(kept.id, 'Last');
    await head();
    await forgetAll();
    expect(await outcomeOf(read(before))).toBe('cursor-too-old');
    expect((await follow(after)).ids).toContain(kept.id);
    const all = [...first.changes.map(({ id }) => id), ...(await follow(first.cursor)).ids];
    const plants = await shop.database.query<{ id: number }>('SELECT id FROM plants');
    expect(new Set(all)).toEqual(new Set(plants.map(({ id }) => id)));
    expect(await shop.database.query('SELECT FROM plant_changes WHERE plant_id = $1', [gone.id])).toEqual([]);
  });

  it('that nobody reads are numbered and forgotten, too', async () => {
    const plant = await shop.create();
    await shop.caller.call(catalog.deletePlant, { plantId: plant.id });
    const unread = () => shop.database.query('SELECT FROM plant_changes WHERE plant_id = $1', [plant.id]);
    expect(await service().number()).toBeGreaterThan(0);
    await age(31);
    const other = await shop.create();
    await service().number();
    await age(31);
    await rename(other.id, 'Young');
    await service().number();
    await forgetAll();
    expect(await unread()).toEqual([]);
  });

  it('of a restored history refuse cursors of the lost one, also after as many changes, and honour those from before (slow)', async () => {
    const plant = await shop.create();
    const common = await head();
    const backUp = ['plants', 'plant_changes', 'plant_change_steps'];
    for (const table of backUp) await shop.database.query(`CREATE TABLE backup_${table} AS SELECT * FROM ${table}`);
    for (let n = 0; n < 3; n++) await rename(plant.id, `Lost ${n}`);
    const lost = await head();
    await rename(plant.id, 'Lost last');
    const later = await head();
    await shop.database.transaction(async (tx) => {
      await tx.execute(`SET LOCAL session_replication_role = 'replica'`);
      await tx.execute('UPDATE plants SET name = b.name, version = b.version FROM backup_plants b WHERE plants.id = b.id');
      for (const table of backUp.slice(1)) {
        await tx.execute(`DELETE FROM ${table}`);
        await tx.execute(`INSERT INTO ${table} SELECT * FROM backup_${table}`);
      }
    });
    for (const cursor of [lost, later]) expect(await outcomeOf(read(cursor))).toBe('cursor-too-old');
    for (let n = 0; n < 6; n++) {
      await rename(plant.id, `New ${n}`);
      await head();
      for (const cursor of [lost, later]) expect(await outcomeOf(read(cursor))).toBe('cursor-too-old');
    }
    expect((await read(common)).changes).toMatchObject([{ id: plant.id, name: 'New 5' }]);
  });

  it('have cursors of their own', async () => {
    for (const cursor of ['x', 'WyJ4IiwxXQ', Buffer.from(JSON.stringify(['x', [0, 0, 'y']])).toString('base64url')]) expect(await outcomeOf(read(cursor))).toBe('invalid-cursor');
    const [fingerprint, [number, since, token]] = JSON.parse(Buffer.from(await head(), 'base64url').toString()) as [string, [number, number, string]];
    const forged = (...position: unknown[]): Promise<unknown> => outcomeOf(read(Buffer.from(JSON.stringify([fingerprint, position])).toString('base64url')));
    expect(await forged(number, Number.MAX_SAFE_INTEGER, token)).toBe('cursor-too-old');
    for (const position of [[number, since, 7], [-1, since, token], [since + 1, since, token], ['0', since, token], [number, since]]) expect(await forged(...position)).toBe('invalid-cursor');
  });

  it('are the same for many readers at once (slow)', async () => {
    const cursor = await head();
    await shop.create();
    const pages = await Promise.all(Array.from({ length: 60 }, () => read(cursor)));
    expect(new Set(pages.map((page) => JSON.stringify(page))).size).toBe(1);
    expect(pages[0]?.changes).toHaveLength(1);
  });
});
