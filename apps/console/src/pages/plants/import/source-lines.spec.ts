import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { piecesOf } from './pieces.js';
import { reportHeader, reportRecord, whyOf } from './report.js';
import { BadFile, type Format, formatOf, linesOf, type SourceLine } from './source-lines.js';

async function* cut(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}
async function all<One>(source: AsyncIterable<One>): Promise<One[]> {
  const found: One[] = [];
  for await (const one of source) found.push(one);
  return found;
}
const read = (format: Format, text: string, size = 7): Promise<SourceLine[]> => all(linesOf(format, cut(text, size)));

describe('lines of a file', () => {
  it('are numbered as in the file, blank lines included; the last needs no newline', async () => {
    expect(await read('ndjson', '{"id":1}\n\n \r\n{"id":2}')).toEqual([
      { number: 1, text: '{"id":1}' },
      { number: 4, text: '{"id":2}' },
    ]);
  });

  it('are the same for every chunk size', async () => {
    const text = fc.array(fc.string(), { maxLength: 20 }).map((lines) => lines.map((line) => `${line.replaceAll('\n', '')}\n`).join(''));
    await fc.assert(fc.asyncProperty(text, fc.integer({ min: 1, max: 50 }), async (whole, size) => expect(await read('ndjson', whole, size)).toEqual(await read('ndjson', whole, 100_000))));
  });

  it('of CSV are rows, numbered from the header', async () => {
    expect(await read('csv', 'id,name,tags\n1,"a\nb",x|y\n2,c,\n')).toEqual([
      { number: 2, text: '{"id":1,"name":"a\\nb","tags":[{"name":"x"},{"name":"y"}]}' },
      { number: 3, text: '{"id":2,"name":"c"}' },
    ]);
  });

  it.each([
    ['ndjson', 'x'.repeat(600_000), /Line 1 is longer/],
    ['csv', 'id;name\n1;Fern\n', /semicolons/],
    ['csv', 'number,name\n', /id and name/],
    ['csv', 'id,name\n1,"Fern', /inside quotes/],
  ] as const)('of an invalid file are refused with the reason: %s %#', async (format, text, message) => {
    const reading = read(format, text, 65_536);
    await expect(reading).rejects.toThrow(BadFile);
    await expect(reading).rejects.toThrow(message);
  });

  it('have the format of the file extension, NDJSON by default', () => {
    expect(['a.csv', 'A.CSV', 'a.ndjson', 'a.jsonl', 'a.csv.txt'].map(formatOf)).toEqual(['csv', 'csv', 'ndjson', 'ndjson', 'ndjson']);
  });
});

describe('pieces', () => {
  const lines = async function* (count: number, text: string): AsyncGenerator<SourceLine> {
    for (let number = 1; number <= count; number += 1) yield { number, text };
  };
  const sizes = async (source: AsyncIterable<SourceLine>, skip?: number): Promise<number[]> => (await all(piecesOf(source, skip))).map((piece) => piece.length);

  it('are limited in lines and characters', async () => {
    expect(await sizes(lines(2_500, 'x'))).toEqual([1_000, 1_000, 500]);
    expect(await sizes(lines(3, 'x'.repeat(300_000)))).toEqual([1, 1, 1]);
    expect(await sizes(lines(0, ''))).toEqual([]);
  });

  it('skip lines that were already imported', async () => {
    expect(await sizes(lines(2_500, 'x'), 2_499)).toEqual([1]);
  });
});

describe('the report', () => {
  it('is CSV in which spreadsheets run no formulas', () => {
    expect(reportHeader + reportRecord({ number: 7, id: 3, why: 'name must be given, "really"', text: '=1+1' })).toBe('line,id,problem,content\r\n7,3,"name must be given, ""really""",\'=1+1\r\n');
  });

  it('names each invalid member and its problem', () => {
    expect(whyOf({ detail: 'whole', errors: [{ pointer: '/tags/0/name', detail: 'must be given' }, { pointer: '', detail: 'is no object' }] })).toBe('tags/0/name must be given; The line is no object');
    expect(whyOf({ detail: 'whole' })).toBe('whole');
  });
});
