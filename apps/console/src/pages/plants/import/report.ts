import { headerOf, rowOf, type SourceLine } from '../../../../../../tools/plants/csv.mjs';

export interface RefusedLine extends Pick<SourceLine, 'number' | 'text'> {
  readonly id: number | undefined;
  readonly why: string;
}

export const reportHeader = headerOf(['line', 'id', 'problem', 'content']);

/** Returns a refused line as a CSV row of the report. */
export const reportRow = ({ number, id, why, text }: RefusedLine): string => rowOf([String(number), String(id ?? ''), why, text]);
