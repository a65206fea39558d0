import { wholeNumber } from '../../../ui/whole-number.js';

export interface TrackingList {
  readonly numbers: Readonly<Record<number, string>>;
  /** Lines that fit none of the orders. */
  readonly unused: readonly string[];
}

/**
 * Reads a pasted list: tracking numbers in the order of the page, or each after the number of its order, as two columns of a spreadsheet or
 * separated by a comma or semicolon.
 */
export function readTrackingList(text: string, orderIds: readonly number[]): TrackingList {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== '');
  const cells = lines.map((line) => line.split(/[\t;,]/).map((cell) => cell.trim()));
  const arePairs = cells.some(([first = '', second]) => second !== undefined && wholeNumber(first) !== undefined);
  const numbers: Record<number, string> = {};
  const unused: string[] = [];
  for (const [n, line] of lines.entries()) {
    const [first = '', second = ''] = cells[n] ?? [];
    const id = arePairs ? wholeNumber(first) : orderIds[n];
    const number = arePairs ? second : line;
    // The titles of a spreadsheet's columns.
    if (arePairs && n === 0 && !/\d/.test(first)) continue;
    if (id === undefined || number === '' || !orderIds.includes(id)) unused.push(line);
    else numbers[id] = number;
  }
  return { numbers, unused };
}
