import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { catalog, type NewPlant, type Plant, type PlantSort, type SearchPlants } from '@plant-shop/contracts/catalog';
import { CatalogFixture, outcomeOf } from '../catalog.spec.fixture.js';

let shop: CatalogFixture;

beforeAll(async () => {
  shop = await CatalogFixture.start();
});
afterAll(() => shop.stop());

const named = (name: string, more: Partial<NewPlant> = {}): Promise<Plant> => shop.create({ name, ...more });
type Asked = Partial<Pick<SearchPlants, keyof SearchPlants>>;
const search = (asked: Asked): Promise<readonly Plant[]> => shop.caller.call(catalog.searchPlants, asked);
const names = async (asked: Asked): Promise<string[]> => (await search(asked)).map(({ name }) => name);

/** All pages of a search, one after the other. */
async function walk(asked: Asked): Promise<{ names: string[]; pages: number }> {
  const found: string[] = [];
  let next = asked.cursor;
  let pages = 0;
  do {
    const answer = await shop.raw(catalog.searchPlants, { ...asked, ...(next !== undefined && { cursor: next }) });
    found.push(...(JSON.parse(Buffer.from(answer.payload).toString()) as Plant[]).map(({ name }) => name));
    next = answer.next;
    pages++;
  } while (next !== undefined);
  return { names: found, pages };
}

/** Inserts plants directly into the table; triggers index them like all others. */
async function fill(count: number, name: string): Promise<void> {
  await shop.database.query(
    `INSERT INTO plants (id, incarnation, version, name, photo_urls, tags, status, bytes, name_words, label_words)
     SELECT drawn + 5000000, drawn, drawn, name, '{}', '[]', 'available', 100, string_to_array(name, ' '), '{}'
     FROM (SELECT format($2, lpad(n::text, 5, '0')) AS name, nextval('plant_versions') AS drawn FROM generate_series(1, $1::integer) AS n) AS t`,
    [count, name],
  );
}

describe('a search', () => {
  it('finds words of the name, the tags and the category, without regard to case and accents', async () => {
    await named('Calathea orbifolia', { tags: [{ name: 'Été frais' }], category: { name: 'Prayer Plants' } });
    for (const q of ['calathea', 'ORBIFOLIA', 'ete', 'Frais orbifolia', 'prayer', 'plants calathea été']) {
      expect([q, await names({ q })]).toEqual([q, ['Calathea orbifolia']]);
    }
    expect(await names({ q: 'calathea absentword' })).toEqual([]);
    expect(await names({ q: '?!' })).toEqual([]);
  });

  it('finds words by their prefixes', async () => {
    await named('Zamioculcas zamiifolia');
    expect(await names({ q: 'zami' })).toEqual(['Zamioculcas zamiifolia']);
    expect(await names({ q: 'zamiocul zamiif' })).toEqual(['Zamioculcas zamiifolia']);
  });

  it('corrects a misspelled word, unless a plant has exactly that word', async () => {
    await named('Philodendron hederaceum');
    expect(await names({ q: 'philodendrum' })).toEqual(['Philodendron hederaceum']);
    expect(await names({ q: 'filodendron hederaceum' })).toEqual(['Philodendron hederaceum']);
    await named('Philodendrum');
    expect(await names({ q: 'philodendrum' })).toEqual(['Philodendrum']);
  });

  it('follows every change of a plant', async () => {
    const { id } = await named('Quercus');
    await shop.caller.call(catalog.replacePlant, { plant: { id, name: 'Quassia', tags: [{ name: 'quassin' }] } });
    expect(await names({ q: 'quercus' })).toEqual([]);
    expect(await names({ q: 'quassin' })).toEqual(['Quassia']);
    await shop.caller.call(catalog.changePlant, { plantId: id, status: 'sold' });
    expect(await names({ q: 'quassia', status: ['sold'] })).toEqual(['Quassia']);
    expect(await names({ q: 'quassia', status: ['available', 'pending'] })).toEqual([]);
    await shop.caller.call(catalog.deletePlant, { plantId: id });
    expect(await names({ q: 'quassia' })).toEqual([]);
    expect(await shop.database.query(`SELECT word FROM plant_words WHERE word LIKE 'qua%' OR word = 'quercus'`)).toEqual([]);
  });

  it('finds a plant by its external id, and plants by all given pairs of their metadata', async () => {
    const make = (name: string, metadata: Record<string, string>) => named(name, { metadata, tags: [{ name: 'with metadata' }], externalId: `E ${name}` });
    await make('Hosta one', { 'sun, noon': 'no', size: 'L' });
    await make('Hosta two', { 'sun, noon': 'no', size: 'S', soil: 'wet' });
    await make('Hosta three', { 'sun, noon': 'yes', size: 'L' });
    expect(await names({ externalId: 'E Hosta two' })).toEqual(['Hosta two']);
    expect(await names({ externalId: 'e hosta two' })).toEqual([]);
    expect(await names({ externalId: 'E Hosta two', metadata: { size: 'L' } })).toEqual([]);
    expect(await names({ metadata: { 'sun, noon': 'no' } })).toEqual(['Hosta two', 'Hosta one']);
    expect(await names({ metadata: { 'sun, noon': 'no', size: 'L' } })).toEqual(['Hosta one']);
    expect(await names({ metadata: { size: 'L' }, tags: ['with metadata'], q: 'hosta', sort: 'name' })).toEqual(['Hosta one', 'Hosta three']);
    expect(await names({ metadata: { size: 'no' } })).toEqual([]);
    expect(await walk({ metadata: { size: 'L' }, limit: 1 })).toEqual({ names: ['Hosta three', 'Hosta one'], pages: 2 });
    expect(await shop.caller.call(catalog.getPlantFacets, { metadata: { size: 'L' } })).toMatchObject({ plants: 2, complete: true });
  });

  it('finds plants that meet all conditions', async () => {
    await named('Sansevieria one', { tags: [{ name: 'dry' }, { name: 'tall' }], category: { name: 'Snake plants' } });
    await named('Sansevieria two', { tags: [{ name: 'dry' }], category: { name: 'Other snakes' } });
    await named('Sansevieria three', { tags: [{ name: 'wet' }], category: { name: 'Snake plants' } });
    expect(await names({ q: 'sansevieria', tags: ['dry', 'unused'] })).toEqual(['Sansevieria two', 'Sansevieria one']);
    expect(await names({ category: 'Snake plants' })).toEqual(['Sansevieria three', 'Sansevieria one']);
    expect(await names({ category: 'Snake plants', tags: ['dry'] })).toEqual(['Sansevieria one']);
    expect(await names({ category: 'snake plants' })).toEqual([]);
    expect(await names({ q: 'sansevieria', category: 'Snake plants', tags: ['tall'], status: ['sold'] })).toEqual([]);
  });

  it('sorts by relevance: the exact word in the name, then in tags, then longer words', async () => {
    await named('Fernleaf');
    await named('Aspidium', { tags: [{ name: 'fern' }] });
    await named('Tree fern');
    await named('Fern of the newest');
    const found = ['Fern of the newest', 'Tree fern', 'Aspidium', 'Fernleaf'];
    expect(await names({ q: 'fern' })).toEqual(found);
    expect((await walk({ q: 'fern', limit: 1 })).names).toEqual(found);
  });

  it('sorts by name without regard to case, and by age', async () => {
    for (const name of ['banyan B', 'Banyan c', 'Banyan a']) await named(name);
    expect(await names({ q: 'banyan', sort: 'name' })).toEqual(['Banyan a', 'banyan B', 'Banyan c']);
    expect((await walk({ q: 'banyan', sort: 'name', limit: 1 })).names).toEqual(['Banyan a', 'banyan B', 'Banyan c']);
    expect((await walk({ q: 'banyan', sort: 'newest', limit: 2 })).names).toEqual(['Banyan a', 'Banyan c', 'banyan B']);
  });

  it('by age finds what is behind many newer plants that do not match', async () => {
    await named('Oldest palm', { status: 'sold' });
    await fill(50, 'palm %s');
    await named('Newest palm', { status: 'sold' });
    expect(await names({ q: 'palm', status: ['sold'], sort: 'newest', limit: 2 })).toEqual(['Newest palm', 'Oldest palm']);
    expect(await walk({ q: 'palm', status: ['sold'], sort: 'newest', limit: 1 })).toEqual({ names: ['Newest palm', 'Oldest palm'], pages: 2 });
  });

  it('refuses a cursor of another query, filter or order, and one that is forged', async () => {
    await named('Cactus a', { tags: [{ name: 'thorn' }] });
    await named('Cactus b', { tags: [{ name: 'thorn' }] });
    const { next } = await shop.raw(catalog.searchPlants, { q: 'cactus', limit: 1 });
    const withCursor = (asked: Asked, cursor = next ?? ''): Promise<unknown> => outcomeOf(search({ ...asked, cursor }));
    expect(await withCursor({ q: 'cactus', limit: 5 })).toMatchObject([{ name: 'Cactus a' }]);
    for (const other of [{ q: 'cacti' }, {}, { q: 'cactus', tags: ['thorn'] }, { q: 'cactus', sort: 'name' as const }, { tags: ['thorn'] }]) {
      expect(await withCursor(other)).toBe('invalid-cursor');
    }
    const [fingerprint] = JSON.parse(Buffer.from(next ?? '', 'base64url').toString()) as [string];
    const forgeries = [7, [1, 2, 'x'], ['1', 1, 0, '', 1], [1, '1', 0, '', 1], [1, 1, 0, 'a\0', 1], [1, 1, 1e12, '', 1], [1, null, 0, '', -5]];
    for (const position of forgeries) {
      const forged = Buffer.from(JSON.stringify([fingerprint, position])).toString('base64url');
      expect(await withCursor({ q: 'cactus' }, forged)).toBe('invalid-cursor');
    }
  });

  it('ignores words after the eighth', async () => {
    await named('One two three four five six seven eight nine ten');
    const name = ['One two three four five six seven eight nine ten'];
    for (const q of [...name, 'ten nine eight seven six five four three none', 'one one one one one one one one two three']) expect([q, await names({ q })]).toEqual([q, name]);
    expect(await names({ q: 'one two three four five six seven none' })).toEqual([]);
  });

  it('finds names in any script, however they are written', async () => {
    const written = {
      'Кактус Шарик': ['кактус', 'КАКТУС', 'шар'],
      'Łódź żółta 🌵Straßenrose': ['lodz', 'zolta', 'strassenrose', 'STRASSENROSE', 'łódź'],
      'Tilia × europaea': ['Tilia × europaea', 'tilia x europaea', 'TILIA EUROPAEA', 'tilia×europaea'],
      'Lady’s mantle': ["lady's mantle", 'lady’s mantle', 'ladys mantle'],
      観葉植物: ['植物', '葉植', '観葉植物', '物'],
      ต้นไม้มงคล: ['ไม้', 'มงคล'],
    };
    for (const name of Object.keys(written)) await named(name);
    for (const [name, queries] of Object.entries(written)) {
      for (const q of queries) expect([q, await names({ q })]).toEqual([q, [name]]);
    }
  });

  it('corrects misspelled words although deleted plants had more similar ones', async () => {
    await named('Chlorophytum');
    for (let n = 0; n < 8; n++) {
      const { id } = await named(`Chlorofitum${'abcdefgh'[n]}`);
      await shop.caller.call(catalog.deletePlant, { plantId: id });
    }
    expect(await names({ q: 'chlorofitum' })).toEqual(['Chlorophytum']);
  });

  it.each<PlantSort>(['relevance', 'newest', 'name'])('pages through more plants than one page scans without repetitions, by %s (slow)', async (sort) => {
    const word = `many${sort}`;
    await fill(2_300, `${word} %s`);
    const { names: found, pages } = await walk({ q: word, sort, limit: 700 });
    const all = Array.from({ length: 2_300 }, (_, n) => `${word} ${String(n + 1).padStart(5, '0')}`);
    expect(found).toEqual(sort === 'name' ? all : all.reverse());
    expect(pages).toBeGreaterThanOrEqual(4);
  });

  it('shows each plant once when pages become smaller (slow)', async () => {
    await fill(150, 'ficus %s');
    await shop.database.query(`
      INSERT INTO plants (id, incarnation, version, name, category, photo_urls, tags, status, bytes, name_words, label_words)
      SELECT drawn + 5000000, drawn, drawn, 'A gift', '{"id": 1, "name": "Ficus"}', '{}', '[]', 'available', 100, '{a,gift}', '{ficus}'
      FROM (SELECT nextval('plant_versions') AS drawn FROM generate_series(1, 150)) AS t`);
    const first = await shop.raw(catalog.searchPlants, { q: 'ficus', limit: 150 });
    const shown = (JSON.parse(Buffer.from(first.payload).toString()) as Plant[]).map(({ name }) => name);
    expect(shown).toEqual(Array.from({ length: 150 }, (_, n) => `ficus ${String(150 - n).padStart(5, '0')}`));
    const rest = await walk({ q: 'ficus', limit: 10, ...(first.next !== undefined && { cursor: first.next }) });
    expect(rest.names).toEqual(Array.from({ length: 150 }, () => 'A gift'));
  });

  it('by relevance ranks more plants than a short page has', async () => {
    await named('Sorrel');
    await shop.create({ name: 'Sorrel soup', tags: [{ name: 'sorrel' }] });
    for (let n = 0; n < 20; n++) await named(`Herb ${n}`, { tags: [{ name: 'sorrel' }] });
    expect(await names({ q: 'sorrel', limit: 2 })).toEqual(['Sorrel soup', 'Sorrel']);
  });

  it('shows no plant twice when plants are added between pages (slow)', async () => {
    await fill(1_200, 'growing %s');
    const first = await shop.raw(catalog.searchPlants, { q: 'growing', limit: 600 });
    await fill(600, 'growing more %s');
    const rest = await walk({ q: 'growing', limit: 600, ...(first.next !== undefined && { cursor: first.next }) });
    const shown = (JSON.parse(Buffer.from(first.payload).toString()) as Plant[]).map(({ name }) => name);
    expect([...shown, ...rest.names]).toHaveLength(1_200);
    expect(new Set([...shown, ...rest.names])).toHaveProperty('size', 1_200);
  });
});

describe('facets', () => {
  it('count the plants that a search finds by status, tag and category', async () => {
    await named('Aloe one', { tags: [{ name: 'sun' }, { name: 'dry spot' }], category: { name: 'Succulents' } });
    await named('Aloe two', { tags: [{ name: 'sun' }], category: { name: 'Succulents' }, status: 'sold' });
    await named('Aloe three');
    expect(await shop.caller.call(catalog.getPlantFacets, { q: 'aloe' })).toEqual({
      plants: 3,
      complete: true,
      status: [
        { value: 'available', plants: 2 },
        { value: 'sold', plants: 1 },
      ],
      tags: [
        { value: 'sun', plants: 2 },
        { value: 'dry spot', plants: 1 },
      ],
      category: [{ value: 'Succulents', plants: 2 }],
    });
    expect(await shop.caller.call(catalog.getPlantFacets, { q: 'aloe', tags: ['dry spot'] })).toMatchObject({ plants: 1 });
    expect(await shop.caller.call(catalog.getPlantFacets, { q: 'no such plant' })).toMatchObject({ plants: 0, complete: true });
  });

  it('count up to a thousand plants, but of more only the newest few, and say so', async () => {
    await fill(999, 'lots %s');
    const facets = (): Promise<unknown> => shop.caller.call(catalog.getPlantFacets, { q: 'lots' });
    expect(await facets()).toMatchObject({ plants: 999, complete: true });
    await fill(2, 'lots %s');
    expect(await facets()).toMatchObject({ plants: 128, complete: false });
  });
});

describe('a server without pg_trgm', () => {
  it('finds words and prefixes, but does not correct misspelled words', async () => {
    await named('Guzmania');
    expect(await names({ q: 'guzmannia' })).toEqual(['Guzmania']);
    await shop.database.query('DROP EXTENSION pg_trgm CASCADE');
    expect(await names({ q: 'guzm' })).toEqual(['Guzmania']);
    expect(await names({ q: 'guzmannia' })).toEqual([]);
  });
});
