import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EXPORTED, headerOf, recordOf, type SourceLine, sourceLines } from '../../../../../../tools/plants/csv.mjs';
import { piecesOf } from './pieces.js';
import { formatOf, guessColumns } from './plant-file.js';
import { faultsOfLine, ofRow, reportHeader, reportRow, whyOf } from './report.js';

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
    expect(guessColumns(['Article', 'Plant name', 'photo_urls', 'STOCK', 'Quantity', '', 'id', 'SKU'])).toEqual([null, 'name', 'photoUrls', 'quantity', null, null, 'id', 'externalId']);
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
  it('is CSV in which spreadsheets run no formulas', () => {
    const faults = [{ column: 'name' as const, detail: 'Enter a "real" name.' }];
    expect(reportHeader + reportRow({ number: 7, id: 3, faults, text: '=1+1' })).toBe('\ufeffline,id,problem,content\r\n7,3,"Name: Enter a ""real"" name.",\'=1+1\r\n');
  });

  it('says in words what the shop refuses, and where', () => {
    const errors = [{ pointer: '/tags/1/name', detail: 'must be text of 1 to 200 characters' }, { pointer: '/colour', detail: 'is not a member' }];
    expect(whyOf(faultsOfLine({ code: 'invalid-input', errors }))).toBe('Plants have no such field. Remove it. Tags: Enter 1 to 200 characters.');
    expect(whyOf(faultsOfLine({ code: 'forbidden' }))).toBe('You may not set the stock of a plant that exists.');
    expect(whyOf(faultsOfLine({ code: 'of-a-newer-shop', status: 409 }))).toBe('The shop refused this.');
    expect(['has 3 cells, the header 2.', 'column 2 has a value.'].map((fault) => ofRow(fault).detail)).toEqual(['The line has 3 cells, the header 2.', 'Column 2 has a value.']);
  });
});
