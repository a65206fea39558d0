import { type Column, COLUMNS, headerOf, rowOf, type SourceLine } from '../../../../../../tools/plants/csv.mjs';
import { fieldSentence } from '../../../ui/field-sentences.js';
import { formatNumber } from '../../../ui/numbers.js';
import { fieldOf } from '../../../ui/problem.js';
import { sentences, sentencesByStatus, type Sentences } from '../../../ui/problem-sentences.js';
import type { PlantReading } from './plant-file.js';

export const labels: Readonly<Record<Column, string>> = { id: 'Id', name: 'Name', status: 'Status', category: 'Category', tags: 'Tags', photoUrls: 'Pictures', externalId: 'External id', quantity: 'Stock' };

/** What a line of a file says of a plant, or what the shop would make of it. */
export type PlantValues = Partial<Readonly<Record<Column, unknown>>>;

/** Why the shop refuses a line (RFC 9457). */
export interface LineProblem {
  readonly code?: string;
  readonly status?: number;
  readonly errors?: readonly { readonly pointer?: string; readonly detail: string }[];
}

/** What is wrong with a line, or with one of its cells. */
export interface LineFault {
  readonly column?: Column;
  readonly detail: string;
}

/** Problems of a line, which are other ones than those of a request. */
const ofLines: Readonly<Record<string, Sentences | undefined>> = {
  'malformed-json': 'This is not the JSON of a plant.',
  forbidden: 'You may not set the stock of a plant that exists.',
};

export function faultsOfLine({ code = '', status = 400, errors = [] }: LineProblem): readonly LineFault[] {
  if (errors.length > 0) {
    const faults = errors.map(({ pointer, detail }) => ({ at: COLUMNS.findIndex((one) => one === fieldOf(pointer)), detail: fieldSentence(detail) }));
    return faults.sort((one, other) => one.at - other.at).map(({ at, detail }) => ({ ...(COLUMNS[at] && { column: COLUMNS[at] }), detail }));
  }
  const known: Readonly<Record<string, Sentences | undefined>> = sentences;
  const said = ofLines[code] ?? known[code] ?? sentencesByStatus(status);
  return [{ detail: typeof said === 'string' ? said : said[0] }];
}

/** @param fault of a row that is not sent, as `csv.mjs` or the preview says it */
export const ofRow = (fault: string): LineFault => ({ detail: /^(has|is) /.test(fault) ? `The line ${fault}` : fault.replace(/^./, (letter) => letter.toUpperCase()) });

export const whyOf = (faults: readonly LineFault[], nameOf = (column: Column): string => labels[column]): string => faults.map(({ column, detail }) => (column ? `${nameOf(column)}: ${detail}` : detail)).join(' ');

export interface RefusedLine extends Pick<SourceLine, 'number' | 'text' | 'cells'> {
  readonly faults: readonly LineFault[];
}

const whyName = 'Problem';

/** The refused lines of a file as CSV: its own rows and columns, and one more that says what is wrong. Corrected, they can be imported again. */
export class Report {
  // Blobs, since the browser may keep them on disk.
  private readonly parts: Blob[] = [];
  private readonly header: readonly string[];
  private readonly names: readonly string[];
  private readonly columns: readonly (Column | null)[];
  private readonly separator: string;

  constructor({ names = [], columns = [], separator = ',' }: Pick<PlantReading, 'names' | 'columns' | 'separator'>) {
    this.columns = columns;
    // Another one would have to be chosen again by hand.
    this.separator = ',;\t'.includes(separator) ? separator : ',';
    // NDJSON has no columns.
    this.header = names.length === 0 ? ['Line', 'Content'] : names;
    // A report that is imported again has that column already.
    this.names = this.header.at(-1) === whyName ? this.header.slice(0, -1) : this.header;
  }

  add(lines: readonly RefusedLine[]): void {
    if (lines.length > 0) this.parts.push(new Blob(lines.map((line) => this.rowOf(line))));
  }

  get csv(): Blob {
    return new Blob([headerOf([...this.names, whyName], this.separator), ...this.parts], { type: 'text/csv' });
  }

  private rowOf({ number, text, cells = [String(number), text], faults }: RefusedLine): string {
    const own = this.names.map((_, n) => cells[n] ?? '');
    const beyond = cells.slice(this.header.length).filter((cell) => cell.trim() !== '');
    return rowOf([...own, ...beyond, whyOf(faults, (column) => this.names[this.columns.indexOf(column)] || labels[column])], this.separator);
  }
}

/** The members of a line; none if it is not the JSON of an object, which the shop refuses. */
export function valuesOf(text: string): PlantValues {
  try {
    const values: unknown = JSON.parse(text);
    return typeof values === 'object' && values !== null && !Array.isArray(values) ? values : {};
  } catch {
    return {};
  }
}

/** A value as people read it. */
export function textOf(plant: PlantValues, column: Column): string {
  const value = plant[column];
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(labelText).join(' | ');
  if (typeof value === 'number' && column !== 'id') return formatNumber(value);
  return labelText(value);
}

function labelText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string') return value.name;
  return JSON.stringify(value);
}

/** A whole line as people read it. */
export function lineText(text: string): string {
  const plant = valuesOf(text);
  const cells = COLUMNS.filter((column) => plant[column] !== undefined).map((column) => `${labels[column]}: ${textOf(plant, column)}`);
  return cells.length === 0 ? text : cells.join(' · ');
}
