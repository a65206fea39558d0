import { counted } from '../../../ui/numbers.js';
import { wholeNumber } from '../../../ui/whole-number.js';

export interface TrackingList {
  readonly numbers: Readonly<Record<number, string>>;
  /** What is not filled in, in sentences. */
  readonly faults: readonly string[];
}

type Rows = readonly (readonly string[])[];

const cellAt = (cells: readonly string[], column: number): string => cells[column] ?? '';

/**
 * Reads a pasted list: tracking numbers in the order of the page, where an empty line leaves an order out, or a column of them beside one of orders, as
 * in a spreadsheet or file. What is not clear is left out and said, because a wrong number sends a customer to another one's parcel.
 */
export function readTrackingList(text: string, orderIds: readonly number[]): TrackingList {
  const lines = text.trimEnd().split(/\r?\n/);
  const idOf = (cell = ''): number | undefined => orderIds.find((id) => id === wholeNumber(cell));
  const rows = rowsOf(lines, idOf);
  const isList = rows.every((cells) => cells.length < 2);
  const idColumn = columnsOf(rows).map((column) => rows.filter((cells) => idOf(cells[column]) !== undefined).length).reduce((best, found, column, all) => (found > (all[best] ?? 0) ? column : best), 0);
  const isTitle = hasTitles(rows, isList ? 0 : idColumn);
  const body = rows.slice(isTitle ? 1 : 0);
  const numberColumn = isList ? 0 : numberColumnOf(body, isTitle ? rows[0] : undefined, idColumn);
  if (numberColumn === undefined) return { numbers: {}, faults: ['It is not clear which column has the tracking numbers. Paste two columns: order and tracking number.'] };
  const found = body.map((cells, n) => ({ line: lines[n + rows.length - body.length]?.trim() ?? '', id: isList ? orderIds[n] : idOf(cells[idColumn]), number: cellAt(cells, numberColumn) }));
  const twice = [...new Set(found.flatMap(({ id }, n) => (id !== undefined && found.findIndex((one) => one.id === id) < n ? [id] : [])))];
  const shortened = found.filter(({ number }) => /^\d([.,]\d+)?e\+\d+$/i.test(number));
  const unused = found.filter(({ line, id, number }) => line !== '' && (id === undefined || number === ''));
  const used = found.filter((one) => one.number !== '' && !shortened.includes(one)).flatMap(({ id, number }) => (id === undefined || twice.includes(id) ? [] : [[id, number] as const]));
  return {
    numbers: Object.fromEntries(used),
    faults: [
      ...(unused.length === 0 ? [] : [`${counted(unused.length, 'line fits', 'lines fit')} none of the orders: ${some(unused.map(({ line }) => line))}`]),
      ...(twice.length === 0 ? [] : [`More than one line is for ${twice.length === 1 ? 'order' : 'orders'} ${some(twice)}, so none is filled in.`]),
      ...(shortened.length === 0 ? [] : [`The spreadsheet has shortened ${some(shortened.map(({ number }) => number))}. Format the column as text.`]),
    ],
  };
}

const some = (all: readonly (string | number)[]): string => `${all.slice(0, 5).join(', ')}${all.length > 5 ? ' …' : ''}`;

const columnsOf = (rows: Rows): number[] => [...Array(Math.max(...rows.map((cells) => cells.length))).keys()];

/** The cells of each line. Blanks separate them if each line begins with an order: tracking numbers may contain blanks. */
function rowsOf(lines: readonly string[], idOf: (cell?: string) => number | undefined): Rows {
  const separator = ['\t', ';', ','].find((one) => lines.some((line) => line.includes(one)));
  if (separator === undefined && lines.every((line) => /^\s*\d+\s+\S/.test(line) && idOf(line.trim().split(/\s/)[0]) !== undefined)) return lines.map((line) => line.trim().split(/\s+(.*)/).slice(0, 2));
  return lines.map((line) => (separator === undefined ? [line] : line.split(separator)).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1').trim()));
}

/** Whether the first line has the columns' titles: no digit where all others that are not empty have some. */
const hasTitles = ([first = [], ...others]: Rows, column: number): boolean =>
  /^\D+$/.test(cellAt(first, column)) && others.length > 0 && others.every((cells) => /^$|\d/.test(cellAt(cells, column)));

/** The only other column, the one that is titled so, or the only one with a digit in each cell. */
function numberColumnOf(body: Rows, titles: readonly string[] | undefined, idColumn: number): number | undefined {
  const others = columnsOf(body).filter((column) => column !== idColumn && body.some((cells) => cellAt(cells, column) !== ''));
  const candidates = [others, others.filter((column) => /track/i.test(titles?.[column] ?? '')), others.filter((column) => body.every((cells) => /\d/.test(cellAt(cells, column))))];
  return candidates.find((columns) => columns.length === 1)?.[0];
}
