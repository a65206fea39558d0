import { describe, expect, it } from '@jest/globals';
import { type Shop, ShopError, ShopProblem } from '@plant-shop/client';
import fc from 'fast-check';
import { EXPORTED, headerOf, recordOf, type SourceLine, sourceLines } from '../../../../../../tools/plants/csv.mjs';
import { forgetAdded } from './current-import.js';
import { type DryRun, dryRun } from './dry-run.js';
import { ImportPreview } from './import-preview.js';
import { piecesOf } from './pieces.js';
import { formatOf, guessColumns, PlantFile, type PlantReading } from './plant-file.js';
import { type ImportState, PlantImport } from './plant-import.js';
import { faultsOfLine, ofRow, Report, whyOf } from './report.js';

/** Of the browser, which keeps how a file was read, and what was added. Its own properties are the names. */
class Kept {
  [name: string]: unknown;
  getItem(name: string): unknown {
    return Object.hasOwn(this, name) ? this[name] : null;
  }
  setItem(name: string, text: string): void {
    this[name] = text;
  }
  removeItem(name: string): void {
    Reflect.deleteProperty(this, name);
  }
  get length(): number {
    return Object.keys(this).length;
  }
}
for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(globalThis, name, { value: new Kept() });
Object.assign(globalThis, { window: new EventTarget() });

async function all<One>(source: AsyncIterable<One>): Promise<One[]> {
  const found: One[] = [];
  for await (const one of source) found.push(one);
  return found;
}

interface Label {
  readonly id?: number;
  readonly name?: string;
}

/** The shop gives a name the same id again, so an export has no ids of the shop's own. */
const withoutOwnId = ({ id, name }: Label): Label => (name !== undefined && id !== undefined && id > 1_000_000_000 ? { name } : { ...(id !== undefined && { id }), ...(name !== undefined && { name }) });
const withoutOwnIds = (plant: { readonly category?: Label | undefined; readonly tags: readonly Label[] }): object => ({
  ...plant,
  category: plant.category && withoutOwnId(plant.category),
  tags: plant.tags.map(withoutOwnId),
});

describe('a file', () => {
  it('has the format of its extension, otherwise that of its content', () => {
    const bytes = new TextEncoder().encode('name;id');
    expect(['a.csv', 'A.CSV', 'a.tsv', 'a.ndjson', 'a.jsonl', 'a.csv.txt'].map((name) => formatOf(name, bytes))).toEqual(['csv', 'csv', 'csv', 'ndjson', 'ndjson', 'csv']);
    expect(['{"id":7}', '\ufeff\n {"id":7}'].map((text) => formatOf('a.txt', new TextEncoder().encode(text)))).toEqual(['ndjson', 'ndjson']);
    expect(formatOf('a.txt', Uint8Array.from([0xff, 0xfe, 0x7b, 0x00]))).toBe('ndjson');
  });

  it('has columns whose names are those of an export, or say the same; each is used once', () => {
    expect(guessColumns(['Article', 'Plant name', 'photo_urls', 'STOCK', 'Quantity', '', 'id', 'SKU'])).toEqual([null, 'name', 'photoUrls', null, 'quantity', null, 'id', 'externalId']);
    expect(guessColumns(['Artikel', 'Bezeichnung'])).toEqual([null, 'name']);
    expect(guessColumns(['Product', 'Name', 'Name'])).toEqual([null, 'name', null]);
    expect(guessColumns(['Artikel', 'Menge'])).toEqual(['name', 'quantity']);
    expect(guessColumns(['Artikel-Nr.', 'Bezeichnung', 'Warengruppe', 'Preis', 'Stück'])).toEqual(['externalId', 'name', 'category', null, 'quantity']);
  });

  it('that was exported as CSV is read as it was, whatever the text and however it is cut (slow)', async () => {
    const special = fc.constantFrom('=', '+', '-', '@', "'", '"', ',', ';', '\t', '\r', '\n', '|', '\\', ':', '7:', '\ufeff', '＝', ' ');
    const anything = fc.array(fc.oneof(special, fc.string({ unit: 'binary' })), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
    // The shop stores names without spaces around them, and addresses without any.
    const name = anything.map((text) => text.trim()).filter((text) => text !== '');
    const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    const plant = fc.record({
      id,
      name,
      status: fc.constantFrom('available', 'pending', 'sold'),
      category: fc.option(fc.oneof(fc.record({ id, name }), fc.record({ id })), { nil: undefined }),
      tags: fc.array(fc.record({ id, name }), { maxLength: 3 }),
      photoUrls: fc.array(anything.map((text) => text.replaceAll(/\s/g, '')).filter((text) => text !== ''), { maxLength: 3 }),
    });
    await fc.assert(fc.asyncProperty(fc.array(plant, { maxLength: 3 }), fc.integer({ min: 1, max: 400 }), async (plants, size) => {
      const bytes = new TextEncoder().encode(headerOf(EXPORTED) + plants.map((one) => recordOf(one)).join(''));
      const chunks = (async function* () {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      })();
      const lines = await all(sourceLines('csv', chunks));
      const read = lines.map(({ text, fault }) => ({ category: undefined, tags: [], photoUrls: [], ...(fault === undefined ? (JSON.parse(text) as object) : { fault }) }));
      expect(read.map(withoutOwnIds)).toEqual(plants.map(withoutOwnIds));
    }));
  });
});

describe('pieces', () => {
  const lines = async function* (count: number, text: string): AsyncGenerator<SourceLine, void> {
    for (let number = 1; number <= count; number += 1) yield { number, text };
  };
  const sizes = async (source: AsyncIterable<SourceLine>, skip?: number): Promise<number[]> => (await all(piecesOf(source, skip))).map((piece) => piece.length);

  it('are limited in lines and characters', async () => {
    expect(await sizes(lines(2_500, 'x'))).toEqual([1_000, 1_000, 500]);
    expect(await sizes(lines(3, 'x'.repeat(300_000)))).toEqual([1, 1, 1]);
    expect(await sizes(lines(0, ''))).toEqual([]);
  });

  it('hold lines without an id by themselves, a few at a time', async () => {
    const mixed = async function* (): AsyncGenerator<SourceLine, void> {
      for (let number = 1; number <= 20; number += 1) yield { number, text: 'x', ...(number > 3 && number < 16 && { isNew: true as const }) };
    };
    expect(await sizes(mixed())).toEqual([3, 8, 4, 5]);
  });

  it('skip blank lines, and lines that were already imported', async () => {
    expect(await sizes(lines(2_500, 'x'), 2_499)).toEqual([1]);
    expect(await sizes(lines(3, ''))).toEqual([]);
  });
});

describe('the report', () => {
  it('has the rows, the columns and the separator of the file, and says at the end of each row what is wrong', async () => {
    const report = new Report({ names: ['Pflanze', 'Menge', 'Preis'], columns: ['name', 'quantity', null], separator: ';' });
    report.add([{ number: 2, text: '{}', cells: ['Farn', 'viele', '2,50'], faults: [{ column: 'quantity', detail: 'Enter a whole number.' }] }]);
    report.add([{ number: 3, text: '{}', cells: ['Moos'], faults: [{ column: 'status', detail: 'Choose one.' }, { detail: 'It is there.' }] }]);
    report.add([{ number: 4, text: 'Farn;1;2;50', cells: ['Farn', '1', '2', '50', ''], faults: [{ detail: 'It has 4 cells.' }] }]);
    expect(await report.csv.text()).toBe('Pflanze;Menge;Preis;Problem\r\nFarn;viele;"2,50";Menge: Enter a whole number.\r\nMoos;;;Status: Choose one. It is there.\r\nFarn;1;2;50;It has 4 cells.\r\n');
  });

  it('has one such column if it is imported again, and is of lines if the file has no columns', async () => {
    const again = new Report({ names: ['name', 'Problem'], columns: ['name', null] });
    again.add([{ number: 2, text: '{}', cells: ['Moss', 'what it was'], faults: [{ detail: 'What it is.' }] }]);
    expect(await again.csv.text()).toBe('name,Problem\r\nMoss,What it is.\r\n');
    const lines = new Report({});
    lines.add([{ number: 7, text: '=1+1', faults: [{ column: 'name', detail: 'Enter a "real" name.' }] }]);
    expect(await lines.csv.text()).toBe('Line,Content,Problem\r\n7,\'=1+1,"Name: Enter a ""real"" name."\r\n');
  });

  it('says in words what the shop refuses, and where', () => {
    const errors = [{ pointer: '/tags/1/name', detail: 'must be text of 1 to 200 characters' }, { pointer: '/colour', detail: 'is not a member' }];
    expect(whyOf(faultsOfLine({ code: 'invalid-input', errors }))).toBe('Plants have no such field. Remove it. Tags: Enter 1 to 200 characters.');
    expect(whyOf(faultsOfLine({ code: 'forbidden' }))).toBe('You may not set the stock of a plant that exists.');
    expect(whyOf(faultsOfLine({ code: 'of-a-newer-shop', status: 409 }))).toBe('The shop refused this.');
    expect(['has 3 cells, the header 2.', 'column 2 has a value.'].map((fault) => ofRow(fault).detail)).toEqual(['The line has 3 cells, the header 2.', 'Column 2 has a value.']);
  });
});

interface TestPlant {
  readonly id?: number;
  readonly externalId?: string;
  readonly name: string;
  readonly quantity?: number;
}

/** Answers as the shop does where a file names a plant twice, or comes twice. */
class TestShop {
  readonly sent: TestPlant[] = [];
  /** Whether the next answer to an import is lost. */
  losesAnswer = false;
  readonly plants = new Map<number, TestPlant>();
  /** Plants by the keys that created them. */
  readonly created = new Map<string, number>();

  get client(): Shop {
    return {
      POST: async (path: string, { body, idempotencyKey = '' }: { body: string | TestPlant; idempotencyKey?: string }) => (typeof body === 'string' ? this.import(path, body) : this.create(body, idempotencyKey)),
      GET: async (_path: string, { params }: { params: { path: { plantId: number } } }) => {
        if (!this.plants.has(params.path.plantId)) throw new ShopProblem({ type: 'http://shop/problems', title: 'No such plant', status: 404, code: 'plant-not-found', requestId: 'r' });
      },
    } as unknown as Shop;
  }

  private create(plant: TestPlant, key: string): object {
    const id = this.created.get(key);
    const data = { id: id ?? this.created.size + 900 };
    if (id === undefined) this.write(data.id, plant);
    this.created.set(key, data.id);
    return { data, response: new Response(null, { headers: id === undefined ? {} : { 'idempotency-replayed': 'true' } }) };
  }

  private import(path: string, body: string): object {
    const isPreview = path.endsWith('/preview');
    const lines = body.trimEnd().split('\n').map((text) => JSON.parse(text) as TestPlant);
    const plants = isPreview ? new Map(this.plants) : this.plants;
    const ids = lines.map(({ id, externalId }, n) => id ?? (externalId === undefined ? undefined : [...plants].find(([, one]) => one.externalId === externalId)?.[0]) ?? -1 - n);
    const answers = lines.map((plant, n) => {
      const id = ids[n] ?? 0;
      if (plant.name === 'bad') return { line: n + 1, result: 'refused', problem: { code: 'invalid-input', errors: [] } };
      const before = plants.get(id);
      const after = { ...before, ...plant, ...(id > 0 && { id }) };
      if (isPreview) plants.set(id, after);
      else this.write(id, after);
      // Of a plant that exists, only its last line has the units.
      const free = plant.quantity !== undefined && (!before || ids.lastIndexOf(id) === n) && { free: { before: before?.quantity, after: plant.quantity } };
      return { line: n + 1, id, result: !before ? 'created' : before.name === after.name && before.quantity === after.quantity ? 'unchanged' : 'updated', ...(isPreview && { before, after, ...free }) };
    });
    if (!isPreview && this.losesAnswer) {
      this.losesAnswer = false;
      throw new ShopError('unreachable', 'No answer.', { outcome: 'unknown' });
    }
    return { data: [...answers, { complete: true }].map((one) => `${JSON.stringify(one)}\n`).join('') };
  }

  private write(id: number, plant: TestPlant): void {
    this.plants.set(id, { ...plant, id });
    this.sent.push(plant);
  }
}

describe('the preview says what the import does', () => {
  const reading: PlantReading = { columns: ['name', 'id', 'externalId', 'quantity'], names: ['name', 'id', 'externalId', 'quantity'] };
  const { signal } = new AbortController();
  const onPart = (): void => undefined;
  let saved = 0;
  const fileOf = (...rows: string[]): Promise<PlantFile> => PlantFile.open(new File([`name,id,externalId,quantity\n${rows.join('\n')}\n`], 'list.csv', { lastModified: (saved += 1) }));
  async function importOf(shop: TestShop, file: PlantFile): Promise<{ preview: DryRun; result: ImportState }> {
    const preview = await dryRun({ shop: shop.client, file, reading, signal, onPart });
    const one = new PlantImport(shop.client, file, reading, preview, () => undefined);
    await one.run();
    return { preview, result: one.state.get() };
  }
  const countsOf = ({ preview: { counts }, result: { created, updated, unchanged, refused } }: { preview: DryRun; result: ImportState }): object => ({ preview: counts, result: { created, updated, unchanged, refused } });
  const refusedOf = (lines: DryRun['refused'] | ImportState['refusedLines']): string[] => lines.map(({ number, faults }) => `${String(number)}: ${whyOf(faults)}`);

  it('unless an answer is lost: then it says which plants it may have made', async () => {
    const shop = new TestShop();
    shop.losesAnswer = true;
    const { preview, result } = await importOf(shop, await fileOf('Fern,8001,,25', 'Moss,,A-1,3'));
    expect(preview.counts).toMatchObject({ created: 2 });
    expect(result).toMatchObject({ phase: 'done', created: 0, unchanged: 2, unclear: 2 });
    expect((await importOf(shop, await fileOf('Fern,8001,,25'))).result).toMatchObject({ unchanged: 1, unclear: 0 });
  });

  it('and sends only the first of the lines that name a plant, whatever they name it by', async () => {
    const shop = new TestShop();
    shop.plants.set(8003, { id: 8003, externalId: 'old', name: 'Known', quantity: 4 });
    const rows = ['Thai,8001,,25', 'No id,,,3', 'Twice,8001,,7', 'Code,,A-1,1', 'Code again,,A-1,2', 'Known,8003,,4', 'Known by code,,old,5', 'Other,8004,A-1,1'];
    const first = await importOf(shop, await fileOf(...rows));
    const counts = { created: 3, updated: 0, unchanged: 1, refused: 4 };
    expect(countsOf(first)).toEqual({ preview: counts, result: counts });
    expect(first.preview.stocks).toBe(1);
    const refused = [
      '4: The line has the same id as line 2.', '6: The line has the same external id as line 5.', '8: The line is the same plant as line 7.',
      '9: The line has the same external id as line 5.',
    ];
    expect(refusedOf(first.preview.refused)).toEqual(refused);
    expect(refusedOf(first.result.refusedLines)).toEqual(refused);
    expect(await first.preview.report.text()).toContain('\r\nTwice,8001,,7,The line has the same id as line 2.\r\n');
    expect(shop.sent.map(({ name, quantity }) => `${name} ${String(quantity)}`)).toEqual(['Thai 25', 'No id 3', 'Code 1', 'Known 4']);
    const { preview } = await importOf(shop, await fileOf(...rows));
    expect(preview.lines.map(({ number, outcome, after }) => `${String(number)} ${outcome} ${String(after?.quantity)}`).slice(0, 2)).toEqual(['2 unchanged 25', '3 unchanged undefined']);
    expect(preview.lines.find(({ number }) => number === 7)?.after?.quantity).toBe(4);
  });

  it('and lets a later line correct one that the shop refuses', async () => {
    const shop = new TestShop();
    const { preview, result } = await importOf(shop, await fileOf('bad,8001,,1', 'bad,8001,A-1,2', 'Corrected,8001,A-1,3', 'Corrected twice,,A-1,4'));
    const counts = { created: 1, updated: 0, unchanged: 0, refused: 3 };
    expect({ preview: preview.counts, sent: result.created }).toEqual({ preview: counts, sent: 1 });
    expect(refusedOf(preview.refused).map((text) => text.slice(0, 50))).toEqual([expect.stringMatching(/^2: /), expect.stringMatching(/^3: /), '5: The line has the same external id as line 4.']);
    expect(shop.plants.get(8001)).toMatchObject({ name: 'Corrected', quantity: 3 });
  });

  it('of lines that are more than a request apart', async () => {
    const shop = new TestShop();
    const between = Array.from({ length: 300 }, (_, n) => `Between ${String(n)},${String(n + 1)},,1`);
    const { preview, result } = await importOf(shop, await fileOf(...between, 'Again,7,,2'));
    expect(refusedOf(preview.refused)).toEqual(['302: The line has the same id as line 8.']);
    expect(refusedOf(result.refusedLines)).toEqual(refusedOf(preview.refused));
    expect(shop.plants.get(7)?.quantity).toBe(1);
  });

  it('with the same file again: what its rows without an id added is there', async () => {
    const shop = new TestShop();
    const file = await fileOf('Fern,,,1', 'Moss,8001,,');
    const first = await importOf(shop, file);
    expect([first.preview.added, first.result.added, first.preview.defaultStocks]).toEqual([0, 0, 1]);
    // A day later, the shop does not know the file any more.
    shop.created.clear();
    const again = await importOf(shop, file);
    const counts = { created: 0, updated: 0, unchanged: 2, refused: 0 };
    expect(countsOf(again)).toEqual({ preview: counts, result: counts });
    expect([again.preview.added, again.result.added]).toEqual([1, 1]);
    expect(again.preview.sameNames).toEqual([]);
    expect(again.preview.lines[0]).toMatchObject({ number: 2, given: { quantity: 1 }, addedAs: 900 });
    expect(shop.plants.size).toBe(2);
  });

  it('with a corrected copy: it adds what no row before has added, however its rows moved', async () => {
    const shop = new TestShop();
    const first = await importOf(shop, await fileOf('Eta,,,5', 'Theta,,,7,50', 'Iota,,,1', 'Iota,,,1'));
    const counts = { created: 3, updated: 0, unchanged: 0, refused: 1 };
    expect(countsOf(first)).toEqual({ preview: counts, result: counts });
    const copy = await importOf(shop, await fileOf('Theta,,,7', 'Iota,,,1', 'Eta,,,5', 'Eta,,,6', 'Iota,,,1', 'Iota,,,1'));
    const ofCopy = { created: 3, updated: 0, unchanged: 3, refused: 0 };
    expect(countsOf(copy)).toEqual({ preview: ofCopy, result: ofCopy });
    expect(copy.preview.lines.map(({ number, addedAs }) => `${String(number)} ${String(addedAs)}`)).toEqual(['2 undefined', '3 901', '4 900', '5 undefined', '6 902', '7 undefined']);
    expect([...shop.plants.values()].map(({ name, quantity }) => `${name} ${String(quantity)}`)).toEqual(['Eta 5', 'Iota 1', 'Iota 1', 'Theta 7', 'Eta 6', 'Iota 1']);
  });

  it('unless the shop alone knows its rows; then the result says so', async () => {
    const shop = new TestShop();
    const file = await fileOf('Sage,,,1');
    const [line] = await all(file.lines(reading, signal, onPart));
    await shop.client.POST('/plant', { body: { name: 'Sage', quantity: 1 }, ...(line?.key !== undefined && { idempotencyKey: line.key }) });
    const { preview, result } = await importOf(shop, file);
    expect([preview.added, result.unchanged, result.added]).toEqual([0, 1, 1]);
  });

  it('after plants of it were deleted: it adds these again, once', async () => {
    const shop = new TestShop();
    const file = await fileOf('Thyme,,,1', 'Mint,,,1');
    const [line] = await all(file.lines(reading, signal, onPart));
    await shop.client.POST('/plant', { body: { name: 'Thyme', quantity: 1 }, ...(line?.key !== undefined && { idempotencyKey: line.key }) });
    shop.plants.delete(900);
    expect((await importOf(shop, file)).result).toMatchObject({ created: 2, unchanged: 0 });
    const names = (): string[] => [...shop.plants.values()].map(({ name }) => name).sort();
    expect(names()).toEqual(['Mint', 'Thyme']);
    for (const [id] of [...shop.plants].filter(([, { name }]) => name === 'Mint')) {
      shop.plants.delete(id);
      forgetAdded(id);
    }
    expect((await importOf(shop, file)).result).toMatchObject({ created: 1, unchanged: 1 });
    expect(names()).toEqual(['Mint', 'Thyme']);
  });
});

describe('a file of one byte a letter', () => {
  /** Cyrillic letters as in Windows-1251, others as in Windows-1252. */
  const bytesOf = (text: string): number[] => Array.from(text, (one) => (one >= 'А' && one <= 'я' ? one.charCodeAt(0) - 0x410 + 0xc0 : one.charCodeAt(0)));
  const encodingOf = async (bytes: readonly number[]): Promise<unknown> => {
    const preview = new ImportPreview(new TestShop().client, new File([new Uint8Array(bytes)], 'list.csv'));
    await preview.open();
    return [preview.state.get().encoding, preview.state.get().columns.map(({ name }) => name)];
  };

  it('is read as Cyrillic if its words are, and else as Western', async () => {
    expect(await encodingOf(bytesOf('Название;Цена\nФикус Бенджамина;12\n'))).toEqual(['windows-1251', ['Название', 'Цена']]);
    expect(await encodingOf(bytesOf('Имя\nФикус\n'))).toEqual(['windows-1251', ['Имя']]);
    expect(await encodingOf(bytesOf('Name;Größe\nÖ, ä und ï: Köln, Façade;12\n'))).toEqual(['windows-1252', ['Name', 'Größe']]);
  });
});

describe('what separates several tags', () => {
  const open = async (...lines: string[]): Promise<ImportPreview> => {
    const preview = new ImportPreview(new TestShop().client, new File([lines.join('\n')], 'list.csv'));
    await preview.open();
    return preview;
  };
  const separatorOf = (preview: ImportPreview): string => preview.state.get().tagSeparator;

  it('is guessed from the cells, also of a column that is said by hand to hold them, and of a list with the same columns', async () => {
    expect(separatorOf(await open('name,tags', 'Fern,easy|shade'))).toBe('|');
    const german = await open('name,Schlagworte,Notiz', 'Fern,easy|shade,"a, b"');
    await german.hold(1, 'tags');
    expect(separatorOf(german)).toBe('|');
    await german.hold(2, 'tags');
    expect(separatorOf(german)).toBe(',');
    expect(separatorOf(await open('name,Schlagworte,Notiz', 'Moss,easy,a;b'))).toBe(';');
  });

  it('stays as it was chosen', async () => {
    const first = await open('name,labels', 'Fern,"a, b"');
    expect(separatorOf(first)).toBe(',');
    await first.separateTagsBy('|');
    expect(separatorOf(await open('name,labels', 'Fern,"a, b; c"'))).toBe('|');
  });
});
