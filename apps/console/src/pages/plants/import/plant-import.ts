import { type components, type Shop, ShopError, ShopProblem } from '@plant-shop/client';
import { Cell } from '../../../shop/cell.js';
import { askBeforeClosing } from '../../../ui/use-stay-here.js';
import { addedBy, keepLeft, noteAdded } from './current-import.js';
import type { DryRun } from './dry-run.js';
import { piecesOf } from './pieces.js';
import type { PlantFile, PlantLine, PlantReading } from './plant-file.js';
import { faultsOfLine, type LineFault, type LineProblem, ofRow, type RefusedLine, Report, textOf, valuesOf } from './report.js';

/** A plant that the import made or changed. */
export interface ImportedPlant {
  /** Of its line. */
  readonly number: number;
  readonly outcome: 'created' | 'updated';
  readonly id: number;
  readonly name: string;
}

export interface ImportState {
  readonly phase: 'running' | 'done' | 'stopped' | 'failed';
  readonly fileName: string;
  /** Share of the file imported, from 0 to 1. */
  readonly part: number;
  /** Number of the last imported or refused line. */
  readonly lastLine: number;
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly refused: number;
  /** Unchanged plants that the same rows had added before. */
  readonly added: number;
  /** Unchanged plants whose lines were sent twice: this import may have made or changed them. */
  readonly unclear: number;
  /** Whether the shop has taken no line for seconds. */
  readonly isStalled: boolean;
  /** Lines without content, which are skipped. */
  readonly blank: number;
  /** The first refused lines; the report contains all. */
  readonly refusedLines: readonly RefusedLine[];
  /** The first ones. */
  readonly plants: readonly ImportedPlant[];
  readonly error?: unknown;
}

/** Refused lines and plants shown at most. */
const mostShown = 100;

/** Pauses between consecutive attempts without progress. */
const pausesMs = [500, 1_000, 2_000, 4_000, 8_000];
const pieceDeadlineMs = 60_000;
/** Answers usually come sooner. */
const usualMs = 3_000;

type NewPlant = components['schemas']['NewPlant'];

interface Result {
  readonly line?: number;
  readonly id?: number;
  readonly result?: 'created' | 'updated' | 'unchanged' | 'refused';
  readonly complete?: boolean;
  readonly problem?: LineProblem;
}

/** The import of one file. It continues while the user visits other pages. */
export class PlantImport {
  readonly state: Cell<ImportState>;
  private readonly refused: Report;
  private stopping = new AbortController();
  /** Whether lines that are sent may have been taken before: an answer was lost, or cut off. */
  private isRepeat = false;
  /** Numbers of rows without an id that were sent. */
  private readonly sent = new Set<number>();

  constructor(
    private readonly shop: Shop,
    private readonly file: PlantFile,
    private readonly reading: PlantReading,
    private readonly preview: Pick<DryRun, 'blank' | 'repeats'>,
    /** Called when the import ends, for any reason. */
    private readonly onEnd: () => void,
  ) {
    this.refused = new Report(reading);
    this.state = new Cell<ImportState>({ phase: 'stopped', fileName: file.file.name, part: 0, lastLine: 0, created: 0, updated: 0, unchanged: 0, refused: 0, added: 0, unclear: 0, isStalled: false, blank: preview.blank, refusedLines: [], plants: [] });
  }

  /** Starts, or continues after the last line taken. */
  async run(): Promise<void> {
    this.stopping = new AbortController();
    this.change({ phase: 'running', error: undefined });
    // Also while another page is shown.
    const stopAsking = askBeforeClosing();
    try {
      let part = 0;
      const lines = this.file.lines(this.reading, this.stopping.signal, (read) => (part = read));
      for await (const piece of piecesOf(this.withoutRepeats(lines), this.state.get().lastLine)) {
        await this.send(piece);
        this.change({ part });
      }
      this.change({ phase: 'done', part: 1 });
    } catch (error) {
      this.change(this.stopping.signal.aborted ? { phase: 'stopped' } : { phase: 'failed', error });
    }
    stopAsking();
    this.onEnd();
  }

  /** Of lines that name a plant twice, only the first is sent. */
  private async *withoutRepeats(lines: AsyncIterable<PlantLine>): AsyncGenerator<PlantLine, void> {
    for await (const line of lines) {
      const fault = this.preview.repeats.get(line.number)?.fault;
      yield fault === undefined ? line : { ...line, fault };
    }
  }

  stop(): void {
    this.stopping.abort();
  }

  /** Returns all refused lines as CSV. */
  report(): Blob {
    return this.refused.csv;
  }

  /** Sends a piece, repeatedly if necessary: importing a plant twice changes nothing. */
  private async send(piece: readonly PlantLine[]): Promise<void> {
    let left = piece;
    for (let failures = 0; left.length > 0; ) {
      let taken = 0;
      let problem: unknown;
      const late = setTimeout(() => this.change({ isStalled: true }), usualMs);
      try {
        ({ taken, problem } = await this.sendOnce(left));
      } catch (error) {
        problem = error;
      }
      clearTimeout(late);
      this.change({ isStalled: taken === 0 });
      left = left.slice(taken);
      if (left.length === 0) {
        this.isRepeat = false;
        return;
      }
      if (!(problem instanceof ShopError && problem.outcome === 'not-done')) this.isRepeat = true;
      failures = taken > 0 ? 0 : failures + 1;
      const pauseMs = pausesMs[failures - 1] ?? (taken > 0 ? 0 : undefined);
      this.stopping.signal.throwIfAborted();
      if (pauseMs === undefined || !isPassing(problem)) throw problem;
      await pause(pauseMs, this.stopping.signal);
    }
  }

  /** @returns the number of lines taken, and why not all were */
  private async sendOnce(lines: readonly PlantLine[]): Promise<{ taken: number; problem: unknown }> {
    if (lines[0]?.isNew) return this.createAll(lines);
    const sent = lines.filter(({ fault }) => fault === undefined);
    const sum = { created: 0, updated: 0, unchanged: 0, refused: 0, added: 0, unclear: 0 };
    const refused = new Map<PlantLine, readonly LineFault[]>();
    const plants: ImportedPlant[] = [];
    let answered = 0;
    let last: Result | undefined;
    for (const answer of sent.length === 0 ? [] : (await this.post(sent)).split('\n')) {
      if (answer === '') continue;
      const result = JSON.parse(answer) as Result;
      if (result.result === undefined || result.line === undefined) {
        last = result;
        break;
      }
      answered = result.line;
      sum[result.result] += 1;
      const source = sent[answered - 1];
      if (source && result.id !== undefined && (result.result === 'created' || result.result === 'updated')) plants.push(plantOf(source, result.result, result.id));
      if (result.result === 'refused' && source) refused.set(source, faultsOfLine(result.problem ?? {}));
    }
    if (this.isRepeat) sum.unclear = sum.unchanged;
    const next = sent[answered];
    const taken = next ? lines.slice(0, lines.indexOf(next)) : lines;
    for (const line of taken) {
      if (line.fault === undefined) continue;
      sum.refused += 1;
      refused.set(line, [ofRow(line.fault)]);
    }
    this.count(taken.at(-1)?.number, sum, taken.flatMap((line) => {
      const faults = refused.get(line);
      return faults ? [{ ...line, faults }] : [];
    }), plants);
    return { taken: taken.length, problem: last?.problem ? new Interrupted(last.problem) : new Interrupted({ status: 503 }) };
  }

  /** Creates the plants of rows without an id. Counts those before the first that failed: the others are repeated, which creates no more. */
  private async createAll(lines: readonly PlantLine[]): Promise<{ taken: number; problem: unknown }> {
    const outcomes = await Promise.allSettled(lines.map((line) => this.create(line)));
    const failed = outcomes.findIndex(({ status }) => status === 'rejected');
    const taken = failed === -1 ? lines.length : failed;
    const results = outcomes.slice(0, taken).flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    const refused = results.filter((one) => typeof one === 'object' && 'faults' in one);
    const created = results.filter((one) => typeof one === 'object' && 'outcome' in one);
    const added = taken - created.length - refused.length;
    this.count(lines[taken - 1]?.number, { created: created.length, updated: 0, unchanged: added, refused: refused.length, added, unclear: 0 }, refused, created);
    const first = outcomes[failed];
    return { taken, problem: first?.status === 'rejected' ? first.reason : undefined };
  }

  /**
   * Creates the plant of a row without an id. Repeated for the same row, also by another import, it creates no other, unless that was deleted.
   * @returns it, or its refusal
   */
  private async create(line: PlantLine): Promise<ImportedPlant | 'unchanged' | RefusedLine> {
    const { number, text, key = '' } = line;
    const isRepeated = this.sent.has(number);
    // The preview has said so.
    if (!isRepeated && addedBy(key) !== undefined) return 'unchanged';
    this.sent.add(number);
    try {
      const body = JSON.parse(text) as NewPlant;
      for (let idempotencyKey = key; ; ) {
        const { response, data } = await this.shop.POST('/plant', { body, idempotencyKey, deadlineMs: pieceDeadlineMs, signal: this.stopping.signal });
        const isReplayed = !isRepeated && response.headers.has('idempotency-replayed');
        if (isReplayed && !(await this.exists(data.id))) {
          // The next key is the same in every import of the row.
          idempotencyKey = `${key}-${data.id}`;
          continue;
        }
        noteAdded(key, data.id);
        return isReplayed ? 'unchanged' : plantOf(line, 'created', data.id);
      }
    } catch (error) {
      if (!(error instanceof ShopProblem) || ![400, 409, 413, 422].includes(error.status)) throw error;
      return { ...line, faults: faultsOfLine(error) };
    }
  }

  private async exists(plantId: number): Promise<boolean> {
    try {
      await this.shop.GET('/plant/{plantId}', { params: { path: { plantId } }, signal: this.stopping.signal });
      return true;
    } catch (error) {
      if (error instanceof ShopProblem && error.is('plant-not-found')) return false;
      throw error;
    }
  }

  private async post(lines: readonly PlantLine[]): Promise<string> {
    const { data } = await this.shop.POST('/plant/import', {
      body: lines.map(({ text }) => `${text}\n`).join(''),
      parseAs: 'text',
      deadlineMs: pieceDeadlineMs,
      // `send` repeats it.
      retries: 0,
      signal: this.stopping.signal,
    });
    return data;
  }

  private count(lastLine: number | undefined, sum: Pick<ImportState, 'created' | 'updated' | 'unchanged' | 'refused' | 'added' | 'unclear'>, refused: readonly RefusedLine[], plants: readonly ImportedPlant[]): void {
    if (lastLine === undefined) return;
    this.refused.add(refused);
    const before = this.state.get();
    this.change({
      lastLine,
      created: before.created + sum.created,
      updated: before.updated + sum.updated,
      unchanged: before.unchanged + sum.unchanged,
      refused: before.refused + sum.refused,
      added: before.added + sum.added,
      unclear: before.unclear + sum.unclear,
      refusedLines: before.refusedLines.length >= mostShown ? before.refusedLines : [...before.refusedLines, ...refused].slice(0, mostShown),
      plants: before.plants.length >= mostShown ? before.plants : [...before.plants, ...plants].slice(0, mostShown),
    });
  }

  private change(changed: Partial<ImportState>): void {
    this.state.set({ ...this.state.get(), ...changed });
    keepLeft(this.state.get());
  }
}

const plantOf = ({ number, text }: PlantLine, outcome: ImportedPlant['outcome'], id: number): ImportedPlant => ({ number, outcome, id, name: textOf(valuesOf(text), 'name') || `Plant ${String(id)}` });

/** The shop ended a request before all its lines were taken. */
class Interrupted extends Error {
  readonly status: number;

  constructor({ code = '', status = 503 }: LineProblem) {
    super(code === 'request-timeout' ? 'The shop waited too long for the rest of the file.' : 'The shop ended the import before its end.');
    this.status = status;
  }
}

const isPassing = (error: unknown): boolean => {
  if (error instanceof Interrupted) return error.status >= 500 || error.status === 408;
  if (error instanceof ShopProblem) return error.status >= 500 || error.status === 429 || error.status === 408;
  return error instanceof ShopError && error.outcome !== 'refused';
};

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    }, { once: true });
  });
