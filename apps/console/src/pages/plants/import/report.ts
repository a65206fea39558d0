import { quotedIfNeeded } from '../../../../../../tools/plants/csv.mjs';

export interface RefusedLine {
  /** Number of the line or spreadsheet row. */
  readonly number: number;
  readonly id: number | undefined;
  readonly why: string;
  /** What was sent. */
  readonly text: string;
}

/** A refused line's problem, as in the API's response. */
export interface LineProblem {
  readonly title?: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly pointer?: string; readonly detail: string }[];
}

/** `name must be given; tags/0 must …` */
export function whyOf({ errors = [], detail, title }: LineProblem): string {
  if (errors.length === 0) return detail ?? title ?? 'The shop did not say why.';
  return errors.map(({ pointer = '', detail: fault }) => `${pointer.replace(/^\//, '') || 'The line'} ${fault}`).join('; ');
}

export const reportHeader = 'line,id,problem,content\r\n';

/** Returns a refused line as a CSV record of the report. */
export const reportRecord = ({ number, id, why, text }: RefusedLine): string =>
  `${[String(number), String(id ?? ''), why, text].map((value) => quotedIfNeeded(harmless(value))).join(',')}\r\n`;

/** Escapes values that spreadsheets would run as a formula. */
const harmless = (value: string): string => (/^[=+\-@\t\r]/.test(value) ? `'${value}` : value);
