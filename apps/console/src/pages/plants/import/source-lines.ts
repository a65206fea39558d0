import { plantOf, recordsOf } from '../../../../../../tools/plants/csv.mjs';

export type Format = 'ndjson' | 'csv';

/** A plant of the file, as an NDJSON line. */
export interface SourceLine {
  /** Number of the line or spreadsheet row, from 1. */
  readonly number: number;
  readonly text: string;
}

/** The rest of the file cannot be read; the lines before were sent. */
export class BadFile extends Error {}

/** The API's limit for a line. Also bounds the memory used for files that are not NDJSON. */
const longestLine = 512 * 1024;

export const formatOf = (name: string): Format => (/\.csv$/i.test(name) ? 'csv' : 'ndjson');

/** Splits a text that arrives in chunks into lines for the API. @throws BadFile */
export const linesOf = (format: Format, pieces: AsyncIterable<string>): AsyncGenerator<SourceLine> => (format === 'csv' ? linesOfCsv(pieces) : linesOfText(pieces));

async function* linesOfText(pieces: AsyncIterable<string>): AsyncGenerator<SourceLine> {
  let number = 0;
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > longestLine) throw new BadFile(`Line ${number + lines.length + 1} is longer than the shop takes. Is this a file with one plant a line?`);
    for (const text of lines) {
      number += 1;
      if (text.trim() !== '') yield { number, text };
    }
  }
  if (rest.trim() !== '') yield { number: number + 1, text: rest };
}

async function* linesOfCsv(pieces: AsyncIterable<string>): AsyncGenerator<SourceLine> {
  let names: readonly string[] | undefined;
  let number = 0;
  try {
    for await (const record of recordsOf(pieces)) {
      number += 1;
      if (names) yield { number, text: JSON.stringify(plantOf(names, record)) };
      else names = namesOf(record);
    }
  } catch (error) {
    if (error instanceof Error && error.message.includes('inside quotes')) throw new BadFile('The file ends inside quotes. Is it complete?', { cause: error });
    throw error;
  }
}

function namesOf(record: readonly string[]): readonly string[] {
  const names = record.map((name) => name.trim());
  if (names.includes('id') && names.includes('name')) return names;
  const why = record.length === 1 && record[0]?.includes(';') === true ? 'This file separates its columns by semicolons; commas are needed.' : '';
  throw new BadFile(`The first row must name the columns, id and name among them. ${why}`.trim());
}
