import type { Shop } from '@plant-shop/client';
import { type Column, COLUMNS } from '../../../../../../tools/plants/csv.mjs';
import { formatNumber } from '../../../ui/numbers.js';
import { addedBy } from './current-import.js';
import type { PlantFile, PlantLine, PlantReading } from './plant-file.js';
import { faultsOfLine, type LineFault, type LineProblem, ofRow, type PlantValues, Report, valuesOf } from './report.js';

export type Outcome = 'created' | 'updated' | 'unchanged' | 'refused';

/** A line, and what importing it would do, as the shop says. */
export interface DryLine {
  readonly number: number;
  readonly outcome: Outcome;
  /** What the file says of the plant. */
  readonly given: PlantValues;
  /** The plant before, if there is one. */
  readonly before?: PlantValues;
  /** The plant after, unless it is refused. */
  readonly after?: PlantValues;
  /** Columns that would change, without the stock. */
  readonly changed: readonly Column[];
  readonly faults: readonly LineFault[];
  /** The plant that the same row added before; it adds no other. */
  readonly addedAs?: number;
}

/** A line that names the plant of another. */
interface Repeat {
  /** The number of that one. */
  readonly first: number;
  readonly fault: string;
}

export interface DryRun {
  readonly counts: Readonly<Record<Outcome, number>>;
  /** Existing plants whose free units would be set. */
  readonly stocks: number;
  /** New plants whose units the file does not say. */
  readonly defaultStocks: number;
  readonly blank: number;
  /** Unchanged plants that the same rows added before. */
  readonly added: number;
  /** Lines that must not be sent, by their numbers: each names the plant of a line before it. */
  readonly repeats: ReadonlyMap<number, Repeat>;
  /** New plants that would share a name with others. */
  readonly sameNames: readonly SameName[];
  /** The first lines. */
  readonly lines: readonly DryLine[];
  /** The first lines that would be refused. */
  readonly refused: readonly (DryLine & { readonly text: string })[];
  /** All lines that would be refused, as CSV. */
  readonly report: Blob;
}

/** A name that several plants would have. */
export interface SameName {
  readonly name: string;
  /** Lines that would create a plant of this name. */
  readonly lines: readonly number[];
  /** A plant that has it already. */
  readonly plantId?: number;
}

/** What the shop says of a line. */
interface Answer {
  readonly result?: Outcome;
  readonly before?: PlantValues;
  readonly after?: PlantValues;
  readonly free?: { readonly before?: number; readonly after: number };
  readonly namesake?: number;
  readonly problem?: LineProblem;
}

const mostShownLines = 10;
const mostRefused = 100;
/** What the shop previews at once. */
const mostLines = 256;
const mostBytes = 256 * 1024;
const deadlineMs = 60_000;

/** Asks the shop what importing a whole file would do. Changes nothing. @throws BadFile, ShopError */
export async function dryRun({ shop, file, reading, signal, onPart }: {
  readonly shop: Shop;
  readonly file: PlantFile;
  readonly reading: PlantReading;
  readonly signal: AbortSignal;
  /** Called with the part that is done, from 0 to 1. */
  readonly onPart: (part: number) => void;
}): Promise<DryRun> {
  const run = new Run(shop, signal, new Report(reading));
  let part = 0;
  let waiting: PlantLine[] = [];
  const judge = async (): Promise<void> => {
    waiting = waiting.slice(await run.judge(waiting));
    onPart(part);
  };
  for await (const line of file.lines(reading, signal, (read) => (part = read))) {
    waiting.push(line);
    while (waiting.length >= mostLines) await judge();
  }
  while (waiting.length > 0) await judge();
  return run.result();
}

class Run {
  private readonly counts: Record<Outcome, number> = { created: 0, updated: 0, unchanged: 0, refused: 0 };
  private readonly lines: DryLine[] = [];
  private readonly refused: (DryLine & { text: string })[] = [];
  private stocks = 0;
  private defaultStocks = 0;
  private blank = 0;
  private added = 0;
  /** The first lines of the plants, by what names these in a line, or by what the shop says they are. */
  private readonly firstLines = new Map<string, number>();
  private readonly repeats = new Map<number, Repeat>();
  /** Lines that the shop refuses: what they name is free for later ones. */
  private readonly refusedByShop = new Set<number>();
  /** New plants, by their names in small letters. */
  private readonly names = new Map<string, { readonly name: string; readonly lines: number[]; plantId?: number }>();

  constructor(
    private readonly shop: Shop,
    private readonly signal: AbortSignal,
    private readonly report: Report,
  ) {}

  /** @returns how many of the lines were judged, at least one */
  async judge(lines: readonly PlantLine[]): Promise<number> {
    const { sent, taken } = this.pieceOf(lines);
    const answers = sent.length === 0 ? [] : await this.ask(sent.map(({ text }) => text));
    const repeated = sent.filter((line, n) => this.isRepeat(line, plantOf(answers[n] ?? {})));
    const isFreed = this.free(sent.filter((_, n) => answers[n]?.result === 'refused'));
    // Its answers for the other lines follow from these, too.
    if (repeated.length > 0 || isFreed) return this.judge(lines);
    const judged = new Map(sent.map((line, n) => [line, answers[n]]));
    let count = 0;
    for (const line of lines.slice(0, taken)) {
      const answer = judged.get(line);
      if (judged.has(line) && answer?.result === undefined) break;
      this.add(line, answer);
      count += 1;
    }
    if (count > 0) return count;
    // The plants are too large for one answer.
    if (taken > 1) return this.judge(lines.slice(0, Math.floor(taken / 2)));
    throw new Error('The shop’s answer was cut off. Choose the file again.');
  }

  result(): DryRun {
    const { counts, stocks, defaultStocks, blank, added, repeats, lines, refused, report } = this;
    const sameNames = [...this.names.values()].filter((one) => one.lines.length > 1 || one.plantId !== undefined);
    return { counts, stocks, defaultStocks, blank, added, repeats, sameNames, lines, refused, report: report.csv };
  }

  /** As many lines as the shop previews at once, without those that need no question. */
  private pieceOf(lines: readonly PlantLine[]): { readonly sent: readonly PlantLine[]; readonly taken: number } {
    const sent: PlantLine[] = [];
    let bytes = 0;
    for (const [n, line] of lines.entries()) {
      if (line.text === '' || line.fault !== undefined || addedBy(line.key) !== undefined || this.isRepeat(line, namesOf(valuesOf(line.text)))) continue;
      bytes += encoder.encode(line.text).length;
      if (sent.length > 0 && (sent.length === mostLines || bytes > mostBytes)) return { sent, taken: n };
      sent.push(line);
    }
    return { sent, taken: lines.length };
  }

  /** Whether a line before it has one of these names of a plant. The stock of both, one after the other, would be there for a moment. */
  private isRepeat({ number }: PlantLine, names: readonly PlantName[]): boolean {
    if (this.repeats.has(number)) return true;
    for (const { key, fault } of names) {
      const first = this.firstLines.get(key) ?? number;
      if (first < number && !this.refusedByShop.has(first)) {
        this.repeats.set(number, { first, fault: `${fault} line ${formatNumber(first)}.` });
        return true;
      }
    }
    for (const { key } of names) this.firstLines.set(key, number);
    return false;
  }

  /** Lets lines have what the shop refuses to earlier ones. @returns whether a line was kept back for one of these */
  private free(refused: readonly PlantLine[]): boolean {
    for (const { number } of refused) this.refusedByShop.add(number);
    const freed = [...this.repeats].filter(([, { first }]) => this.refusedByShop.has(first));
    for (const [number] of freed) this.repeats.delete(number);
    return freed.length > 0;
  }

  private async ask(lines: readonly string[]): Promise<readonly Answer[]> {
    const { data } = await this.shop.POST('/plant/import/preview', { body: lines.map((text) => `${text}\n`).join(''), parseAs: 'text', deadlineMs, signal: this.signal });
    return data.split('\n').filter((text) => text !== '').map((text) => JSON.parse(text) as Answer);
  }

  private add(line: PlantLine, answer: Answer | undefined): void {
    const { number, text, fault = this.repeats.get(number)?.fault } = line;
    if (text === '') {
      this.blank += 1;
      return;
    }
    const given = line.fault === undefined ? valuesOf(text) : {};
    const addedAs = addedBy(line.key);
    if (addedAs !== undefined) {
      this.counts.unchanged += 1;
      this.added += 1;
      if (this.lines.length < mostShownLines) this.lines.push({ number, outcome: 'unchanged', given, changed: [], faults: [], addedAs });
      return;
    }
    const { result = 'refused', before, after, free, namesake, problem } = answer ?? {};
    this.counts[result] += 1;
    if (result === 'refused') {
      const faults = fault === undefined ? faultsOfLine(problem ?? {}) : [ofRow(fault)];
      const shown = { number, outcome: result, given, changed: [], faults };
      if (this.lines.length < mostShownLines) this.lines.push(shown);
      if (this.refused.length < mostRefused) this.refused.push({ ...shown, text });
      this.report.add([{ ...line, faults }]);
      return;
    }
    if (free && result !== 'created') this.stocks += 1;
    if (!free && result === 'created') this.defaultStocks += 1;
    if (result === 'created' && typeof after?.name === 'string') this.addName(after.name, number, namesake);
    if (this.lines.length >= mostShownLines) return;
    const changed = before && after ? COLUMNS.filter((column) => JSON.stringify(before[column]) !== JSON.stringify(after[column])) : [];
    this.lines.push({
      number,
      outcome: result,
      given,
      changed,
      faults: [],
      ...(before && { before: { ...before, quantity: free?.before } }),
      ...(after && { after: { ...after, quantity: free?.after } }),
    });
  }

  private addName(name: string, number: number, namesake: number | undefined): void {
    const key = name.toLowerCase();
    const known = this.names.get(key) ?? { name, lines: [] };
    known.lines.push(number);
    if (namesake !== undefined) known.plantId = namesake;
    this.names.set(key, known);
  }
}

const encoder = new TextEncoder();

/** What tells which plant a line is of. */
interface PlantName {
  readonly key: string;
  /** What is wrong with a second line of this name, before the first one's number. */
  readonly fault: string;
}

/** The names that a line gives. */
const namesOf = ({ id, externalId }: PlantValues): PlantName[] => [
  ...(typeof id === 'number' ? [{ key: `id ${String(id)}`, fault: 'has the same id as' }] : []),
  ...(typeof externalId === 'string' ? [{ key: `external id ${externalId}`, fault: 'has the same external id as' }] : []),
];

/** The plant that the shop would make or change: one line may name it by its id, another by its external id. */
function plantOf({ after }: Answer): PlantName[] {
  const key = after?.id ?? after?.externalId;
  return key === undefined ? [] : [{ key: `plant ${JSON.stringify(key)}`, fault: 'is the same plant as' }];
}
