import type { Shop } from '@plant-shop/client';
import { Cell } from '../../../shop/cell.js';
import { BadEncoding, BadFile, type Column, EXPORTED, type Reading, type Row } from '../../../../../../tools/plants/csv.mjs';
import { type DryRun, dryRun } from './dry-run.js';
import { guessColumns, PlantFile, type PlantReading } from './plant-file.js';

/** A column of the file. */
interface FileColumn {
  readonly name: string;
  readonly examples: readonly string[];
  /** What it holds; null: it is left out. */
  readonly holds: Column | null;
  /** What seems to separate tags in its cells. */
  readonly tagSeparator: string;
}

export interface PreviewState {
  /** Undefined while the file is opened. */
  readonly file: PlantFile | undefined;
  readonly encoding: string;
  readonly separator: string;
  /** What separates several tags. */
  readonly tagSeparator: string;
  /** None for NDJSON. */
  readonly columns: readonly FileColumn[];
  /** Part of the file that was checked, from 0 to 1. */
  readonly part: number;
  readonly result: DryRun | undefined;
  readonly error?: unknown;
}

/** What Excel saves in Western Europe and America, unless told to write UTF-8. */
const usualEncoding = 'windows-1252';
/** Bytes of the file from which its encoding is guessed. */
const mostSeen = 64 * 1024;
const mostExamples = 3;
/** Rows from which the separator of tags is guessed. */
const mostRead = 200;

interface ReadBefore extends Pick<PreviewState, 'encoding' | 'tagSeparator' | 'columns'> {
  readonly seems?: string | undefined;
}

/** The browser keeps how the file before was read. Its correction, or next week's list, begins with the same columns: what was chosen for them by hand stays. */
const keptAs = 'console-import';
const readBefore = (): ReadBefore => JSON.parse(localStorage.getItem(keptAs) ?? 'null') as ReadBefore | null ?? { encoding: usualEncoding, tagSeparator: '|', columns: [] };
const keep = ({ encoding, tagSeparator, columns, seems }: ReadBefore): void =>
  localStorage.setItem(keptAs, JSON.stringify({ encoding, tagSeparator, columns: columns.map((column) => ({ ...column, examples: [] })), seems }));

/** Windows-1251 has letters where Windows-1252 has accented ones: words are of these alone, while accents are far apart. */
function seemsCyrillic(bytes: Uint8Array): boolean {
  const text = new TextDecoder(usualEncoding).decode(bytes);
  const beyondAscii = text.match(/[^\0-\x7f]/g)?.length ?? 0;
  const inWords = text.match(/[À-ÿ]{3,}/g)?.join('').length ?? 0;
  return inWords * 2 > beyondAscii;
}

/** A file before it is imported: how it is read, and what importing it would do. */
export class ImportPreview {
  readonly state: Cell<PreviewState>;
  private checking = new AbortController();
  /** The encoding of a file that is not UTF-8, as guessed. */
  private seems: string | undefined;

  constructor(
    private readonly shop: Shop,
    readonly source: File,
  ) {
    this.state = new Cell<PreviewState>({ file: undefined, encoding: 'utf-8', separator: '', tagSeparator: '|', columns: [], part: 0, result: undefined });
  }

  /** Reads the file, in the encoding and with the separator that it seems to have or that were chosen. */
  async open(chosen: Reading = {}): Promise<void> {
    this.restart();
    const { signal } = this.checking;
    try {
      const file = this.state.get().file ?? (await PlantFile.open(this.source));
      signal.throwIfAborted();
      this.change({ file, encoding: chosen.encoding ?? 'utf-8' });
      if (file.format === 'csv') {
        const [header, ...rows] = await firstRows(file, chosen, signal);
        if (!header) throw new BadFile('The file is empty.');
        const names = header.cells.map((cell) => cell.trim());
        const before = this.state.get();
        // What was chosen by hand stays, unless these are other columns.
        const isSame = before.columns.length === names.length && before.separator === header.separator;
        const kept = readBefore();
        const isCorrection = before.columns.length === 0 && kept.columns.length > 0 && kept.columns.every(({ name }, n) => name === names[n]);
        const known = isSame ? before : isCorrection ? kept : undefined;
        const guessed = guessColumns(names, known?.columns.map(({ holds }) => holds));
        const columns = names.map((name, n) => {
          const cells = rows.map((row) => row.cells[n]?.trim() ?? '');
          return { name, examples: cells.slice(0, mostExamples).filter((cell) => cell !== ''), holds: guessed[n] ?? null, tagSeparator: tagSeparatorOf(names, cells) };
        });
        const tagSeparator = known && known.tagSeparator !== guessedTagSeparator(known.columns) ? known.tagSeparator : guessedTagSeparator(columns);
        this.change({ columns, separator: header.separator, tagSeparator });
      }
      await this.check(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof BadEncoding && chosen.encoding === undefined && this.state.get().file?.format === 'csv') await this.open({ ...chosen, encoding: await this.encoding() });
      else this.change({ error });
    }
  }

  /** Of a file that is not UTF-8: what it seems to be, or what was chosen by hand for a file that seemed the same. */
  private async encoding(): Promise<string> {
    this.seems = seemsCyrillic(new Uint8Array(await this.source.slice(0, mostSeen).arrayBuffer())) ? 'windows-1251' : usualEncoding;
    const { seems, encoding } = readBefore();
    return seems === this.seems ? encoding : this.seems;
  }

  /** Says what a column holds. Another one that held it is left out. */
  hold(position: number, column: Column | null): Promise<void> {
    const columns = this.state.get().columns.map((one, n) => {
      if (n === position) return { ...one, holds: column };
      return one.holds === column ? { ...one, holds: null } : one;
    });
    return this.checkAgain({ columns, ...(column === 'tags' && { tagSeparator: guessedTagSeparator(columns) }) });
  }

  separateTagsBy(tagSeparator: string): Promise<void> {
    return this.checkAgain({ tagSeparator });
  }

  private async checkAgain(changed: Partial<PreviewState>): Promise<void> {
    this.restart();
    this.change(changed);
    const { signal } = this.checking;
    try {
      await this.check(signal);
    } catch (error) {
      if (!signal.aborted) this.change({ error });
    }
  }

  stop(): void {
    this.checking.abort();
  }

  get reading(): PlantReading {
    const { file, columns, encoding, separator, tagSeparator } = this.state.get();
    return { columns: columns.map(({ holds }) => holds), names: columns.map(({ name }) => name), encoding, tagSeparator, ...(separator !== '' && file?.isWorkbook === false && { separator }) };
  }

  private restart(): void {
    this.stop();
    this.checking = new AbortController();
    this.change({ part: 0, result: undefined, error: undefined });
  }

  private async check(signal: AbortSignal): Promise<void> {
    const { file, columns } = this.state.get();
    if (!file || (file.format === 'csv' && !columns.some(({ holds }) => holds === 'name'))) return;
    const result = await dryRun({ shop: this.shop, file, reading: this.reading, signal, onPart: (part) => {
      // Each change renders the page.
      if (!signal.aborted && part - this.state.get().part >= 0.01) this.change({ part });
    } });
    if (!signal.aborted) this.change({ part: 1, result });
  }

  private change(changed: Partial<PreviewState>): void {
    const state = { ...this.state.get(), ...changed };
    this.state.set(state);
    if (changed.columns || changed.tagSeparator) keep({ ...state, seems: this.seems });
  }
}

const guessedTagSeparator = (columns: readonly FileColumn[]): string => columns.find(({ holds }) => holds === 'tags')?.tagSeparator ?? '|';

/** An export separates tags by |, others seldom do. */
function tagSeparatorOf(names: readonly string[], cells: readonly string[]): string {
  if (EXPORTED.every((column) => names.includes(column)) || cells.some((cell) => cell.includes('|'))) return '|';
  return cells.some((cell) => cell.includes(';')) ? ';' : ',';
}

/** The header and the rows after it. */
async function firstRows(file: PlantFile, reading: Reading, signal: AbortSignal): Promise<readonly Row[]> {
  const found: Row[] = [];
  for await (const row of file.rows(reading, signal, () => undefined)) {
    if (row.cells.some((cell) => cell.trim() !== '')) found.push(row);
    if (found.length > mostRead) break;
  }
  return found;
}
