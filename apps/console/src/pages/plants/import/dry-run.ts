import type { Shop } from '@plant-shop/client';
import { type Column, COLUMNS, type SourceLine } from '../../../../../../tools/plants/csv.mjs';
import type { PlantFile, PlantReading } from './plant-file.js';
import { faultsOfLine, type LineFault, type LineProblem, ofRow, type PlantValues, reportHeader, reportRow, valuesOf } from './report.js';

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
}

export interface DryRun {
  readonly counts: Readonly<Record<Outcome, number>>;
  /** Existing plants whose free units would be set. */
  readonly stocks: number;
  readonly blank: number;
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
  const run = new Run(shop, signal);
  let part = 0;
  let waiting: SourceLine[] = [];
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
  private readonly report: Blob[] = [];
  private stocks = 0;
  private blank = 0;
  /** Plants as the lines so far would leave them, by id, and those without one by line. */
  private readonly plants = new Map<string, PlantValues>();
  /** Keys of `plants` by external id. */
  private readonly owners = new Map<unknown, string>();
  /** New plants, by their names in small letters. */
  private readonly names = new Map<string, { readonly name: string; readonly lines: number[]; plantId?: number }>();

  constructor(
    private readonly shop: Shop,
    private readonly signal: AbortSignal,
  ) {}

  /** @returns how many of the lines were judged, at least one */
  async judge(lines: readonly SourceLine[]): Promise<number> {
    const { before, sent, taken } = this.pieceOf(lines);
    const answers = sent.length === 0 ? [] : (await this.ask([...before, ...sent.map(({ text }) => text)])).slice(before.length);
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
    const { counts, stocks, blank, lines, refused } = this;
    const sameNames = [...this.names.values()].filter((one) => one.lines.length > 1 || one.plantId !== undefined);
    return { counts, stocks, blank, sameNames, lines, refused, report: new Blob([reportHeader, ...this.report], { type: 'text/csv' }) };
  }

  /** As many lines as the shop previews at once, with the plants before that they depend on. */
  private pieceOf(lines: readonly SourceLine[]): { readonly before: readonly string[]; readonly sent: readonly SourceLine[]; readonly taken: number } {
    const before = new Map<string, string>();
    const sent: SourceLine[] = [];
    let bytes = 0;
    for (const [n, line] of lines.entries()) {
      if (line.text === '' || line.fault !== undefined) continue;
      const { id, externalId } = valuesOf(line.text);
      const needed = [keyOf(id), this.owners.get(externalId)].filter((key): key is string => key !== undefined && this.plants.has(key) && !before.has(key));
      const texts = needed.map((key) => JSON.stringify(this.plants.get(key)));
      bytes += [...texts, line.text].reduce((sum, text) => sum + encoder.encode(text).length, 0);
      if (sent.length > 0 && (before.size + needed.length + sent.length + 1 > mostLines || bytes > mostBytes)) return { before: [...before.values()], sent, taken: n };
      for (const [m, key] of needed.entries()) before.set(key, texts[m] ?? '');
      sent.push(line);
    }
    return { before: [...before.values()], sent, taken: lines.length };
  }

  private async ask(lines: readonly string[]): Promise<readonly Answer[]> {
    const { data } = await this.shop.POST('/plant/import/preview', { body: lines.map((text) => `${text}\n`).join(''), parseAs: 'text', deadlineMs, signal: this.signal });
    return data.split('\n').filter((text) => text !== '').map((text) => JSON.parse(text) as Answer);
  }

  private add({ number, text, fault }: SourceLine, answer: Answer | undefined): void {
    if (text === '') {
      this.blank += 1;
      return;
    }
    const given = fault === undefined ? valuesOf(text) : {};
    const { result = 'refused', before, after, free, namesake, problem } = answer ?? {};
    this.counts[result] += 1;
    if (result === 'refused') {
      const faults = fault === undefined ? faultsOfLine(problem ?? {}) : [ofRow(fault)];
      const line = { number, outcome: result, given, changed: [], faults };
      if (this.lines.length < mostShownLines) this.lines.push(line);
      if (this.refused.length < mostRefused) this.refused.push({ ...line, text });
      this.report.push(new Blob([reportRow({ number, id: typeof given.id === 'number' ? given.id : undefined, faults, text })]));
      return;
    }
    // Otherwise the shop, or an earlier line, has it as it is.
    if (after && result !== 'unchanged') this.remember(keyOf(after.id) ?? this.owners.get(after.externalId) ?? `line ${String(number)}`, { ...after, quantity: free?.after });
    if (free && result !== 'created') this.stocks += 1;
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

  private remember(key: string, after: PlantValues): void {
    this.plants.set(key, after);
    if (after.externalId !== undefined) this.owners.set(after.externalId, key);
  }
}

const encoder = new TextEncoder();

const keyOf = (id: unknown): string | undefined => (typeof id === 'number' ? String(id) : undefined);
