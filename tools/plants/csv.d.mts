// For the console, which imports the same rules in the browser, without Node's types.
/** The columns of an export, which has no stock. */
export declare const EXPORTED: readonly string[];
export type Format = 'csv' | 'ndjson';
/** A file that cannot be read as a whole; the message says where and what to do. */
export declare class BadFile extends Error {}
export interface SourceLine {
  /** The number of the line in the file, as an editor shows it, where the row begins. */
  readonly number: number;
  /** A plant's JSON; empty for a line or row without content. */
  readonly text: string;
  /** The plant has no id: the shop gives it one. */
  readonly isNew?: true;
  /** Why the row cannot be sent; `text` is its content. */
  readonly fault?: string;
}
/** Yields the lines of a file. @throws BadFile */
export declare function sourceLines(format: Format, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<SourceLine, void>;
/** Yields the lines of a text, separated by newlines. @throws BadFile */
export declare function linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, void>;
/** Returns a row in which spreadsheets run no formulas. */
export declare function rowOf(values: readonly string[]): string;
/** Returns the first row of a file. */
export declare function headerOf(names: readonly string[]): string;
/** Converts a plant from the API to a row. */
export declare function recordOf(plant: object): string;
/** A problem of the API. */
export interface LineProblem {
  readonly title?: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly pointer?: string; readonly detail: string }[];
}
/** Returns why the shop refused a line. */
export declare function whyOf(format: Format, problem: LineProblem): string;
