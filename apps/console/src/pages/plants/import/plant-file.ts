import { BadFile, type Column, columnOf, type Format, markOf, plantsOf, type Reading, type Row, rowsOf, type SourceLine, sourceLines } from '../../../../../../tools/plants/csv.mjs';
import { chunksOf } from './pieces.js';
import { readWorkbook, type Sheet } from './workbook.js';

/** How a CSV file or workbook is read. */
export interface PlantReading extends Reading {
  /** What each column of the file holds; null: it is left out. */
  readonly columns?: readonly (Column | null)[];
  /** What the file calls them. */
  readonly names?: readonly string[];
}

export interface PlantLine extends SourceLine {
  /** Names a row without an id by what it says and how many rows before it say the same: a corrected copy of its file has the same key. */
  readonly key?: string;
}

/** Returns the format of a file with rows or lines of plants. @param begin its first bytes */
export function formatOf(name: string, begin: Uint8Array): Format {
  if (/\.(csv|tsv)$/i.test(name)) return 'csv';
  return /\.(ndjson|jsonl)$/i.test(name) || /^[\s\0]*\{/.test(textOf(begin.subarray(markOf(begin)?.mark.length ?? 0))) ? 'ndjson' : 'csv';
}

const textOf = (bytes: Uint8Array): string => new TextDecoder('windows-1252').decode(bytes);

const beginLength = 64;

/** Whether a file begins as pictures, programs, PDF and RTF documents do. Text in UTF-16 has such bytes, and a mark. */
const isNoText = (begin: Uint8Array): boolean => /^(?:%PDF|\{\\rtf|GIF8)/.test(textOf(begin)) || begin.some((byte) => (byte > 0 && byte < 9) || (byte > 13 && byte < 32));

/** A file of plants: CSV, NDJSON or a workbook of Excel. It can be read repeatedly. */
export class PlantFile {
  private constructor(
    readonly file: File,
    readonly format: Format,
    /** The encoding that the file itself names. */
    readonly mark: string | undefined,
    /** Of a workbook. */
    readonly sheet: Sheet | undefined,
  ) {}

  /** @throws BadFile */
  static async open(file: File): Promise<PlantFile> {
    const begin = new Uint8Array(await file.slice(0, beginLength).arrayBuffer());
    const text = textOf(begin);
    if (text.startsWith('\u00d0\u00cf\u0011\u00e0')) throw new BadFile('This is a workbook of an old Excel. Save it as .xlsx, or as “CSV UTF-8”.');
    if (text.startsWith('PK\u0003\u0004')) return new PlantFile(file, 'csv', undefined, readWorkbook(new Uint8Array(await file.arrayBuffer())));
    if (!markOf(begin) && isNoText(begin)) throw new BadFile('This file is no list of plants: its content is no text. Choose a CSV file, a workbook of Excel (.xlsx) or NDJSON.');
    return new PlantFile(file, formatOf(file.name, begin), markOf(begin)?.name, undefined);
  }

  get isWorkbook(): boolean {
    return this.sheet !== undefined;
  }

  /** @param onPart called with the part of the file that was read, from 0 to 1 @throws BadFile */
  lines({ columns, tagSeparator, ...reading }: PlantReading, signal: AbortSignal, onPart: (part: number) => void): AsyncGenerator<PlantLine, void> {
    return withKeys(this.format === 'ndjson' ? withNew(sourceLines('ndjson', this.bytes(signal, onPart))) : plantsOf(this.rows(reading, signal, onPart), columns, tagSeparator));
  }

  async *rows(reading: Reading, signal: AbortSignal, onPart: (part: number) => void): AsyncGenerator<Row, void> {
    if (!this.sheet) {
      yield* rowsOf(this.bytes(signal, onPart), reading);
      return;
    }
    const { rows } = this.sheet;
    for (const [index, row] of rows.entries()) {
      signal.throwIfAborted();
      onPart((index + 1) / rows.length);
      yield row;
    }
  }

  private async *bytes(signal: AbortSignal, onPart: (part: number) => void): AsyncGenerator<Uint8Array, void> {
    let bytes = 0;
    for await (const chunk of chunksOf(this.file.stream())) {
      signal.throwIfAborted();
      bytes += chunk.length;
      onPart(bytes / this.file.size);
      yield chunk;
    }
  }
}

/** FNV-1a of 64 bits. */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let at = 0; at < text.length; at += 1) hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n);
  return hash.toString(36);
}

async function* withKeys(lines: AsyncIterable<SourceLine>): AsyncGenerator<PlantLine, void> {
  const counts = new Map<string, number>();
  for await (const line of lines) {
    if (!line.isNew) {
      yield line;
      continue;
    }
    const hash = hashOf(line.text);
    const count = (counts.get(hash) ?? 0) + 1;
    counts.set(hash, count);
    yield { ...line, key: `plants-${hash}-${count}` };
  }
}

/** Marks the lines that name no plant, as such rows are: the shop adds one. */
async function* withNew(lines: AsyncIterable<SourceLine>): AsyncGenerator<SourceLine, void> {
  for await (const line of lines) yield namesNone(line.text) ? { ...line, isNew: true } : line;
}

function namesNone(text: string): boolean {
  try {
    const plant: unknown = JSON.parse(text);
    return typeof plant === 'object' && plant !== null && !Array.isArray(plant) && !('id' in plant) && !('externalId' in plant);
  } catch {
    // The shop refuses it.
    return false;
  }
}

/** Other names of columns, in English and German, without blanks and in small letters. Those that fit best come first. */
const otherNames: Partial<Readonly<Record<Column, readonly string[]>>> = {
  id: ['plantid'],
  name: ['plantname', 'productname', 'title', 'bezeichnung', 'plant', 'product', 'pflanze', 'artikel'],
  category: ['group', 'kategorie', 'gruppe', 'warengruppe'],
  tags: ['tag', 'labels', 'schlagworte', 'stichworte'],
  photoUrls: ['photos', 'pictures', 'images', 'imageurl', 'bilder', 'fotos'],
  externalId: ['sku', 'articlenumber', 'itemnumber', 'artikelnummer', 'artikelnr', 'bestellnummer'],
  quantity: ['stock', 'units', 'qty', 'freeunits', 'instock', 'bestand', 'menge', 'stück', 'anzahl'],
};

/** What a heading may mean, and how sure that is: 0 is the column's own name. */
function meaningOf(name: string): { readonly column: Column; readonly rank: number } | undefined {
  const short = name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
  const own = columnOf(name) ?? columnOf(short);
  if (own !== undefined) return { column: own, rank: 0 };
  const column = (Object.keys(otherNames) as Column[]).find((one) => otherNames[one]?.includes(short));
  return column && { column, rank: 1 + (otherNames[column]?.indexOf(short) ?? 0) };
}

/** Guesses what the columns of a file hold, after the first ones that are known. Each is used once, by the heading that fits best. */
export function guessColumns(names: readonly string[], known: readonly (Column | null)[] = []): (Column | null)[] {
  const meanings = names.map((name, n) => (known[n] === undefined ? meaningOf(name) : undefined));
  return meanings.map((meaning, n) => {
    if (known[n] !== undefined) return known[n];
    if (meaning === undefined || known.includes(meaning.column)) return null;
    const isBest = meanings.every((other, m) => other?.column !== meaning.column || other.rank > meaning.rank || (other.rank === meaning.rank && m >= n));
    return isBest ? meaning.column : null;
  });
}
