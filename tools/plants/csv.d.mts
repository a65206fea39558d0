// For the console, which imports the same rules in the browser, without Node's types.
export type Column = 'id' | 'name' | 'status' | 'category' | 'tags' | 'photoUrls' | 'externalId' | 'quantity';
export declare const COLUMNS: readonly Column[];
/** The columns of an export, which has no stock. */
export declare const EXPORTED: readonly string[];
export type Format = 'csv' | 'ndjson';
/** A file that cannot be read as a whole; the message says where and what to do. */
export declare class BadFile extends Error {}
/** A file in another encoding than it was read in. */
export declare class BadEncoding extends BadFile {}
export interface SourceLine {
  /** The number of the line in the file, as an editor shows it, where the row begins. */
  readonly number: number;
  /** A plant's JSON; empty for a line or row without content. */
  readonly text: string;
  /** The plant has neither id nor external id: the shop adds one. */
  readonly isNew?: true;
  /** Why the row cannot be sent; `text` is its content. */
  readonly fault?: string;
  /** Those of a row, as `rowOf` takes them. */
  readonly cells?: readonly string[];
}
/** A row as it is in the file. */
export interface Row {
  readonly number: number;
  readonly cells: readonly string[];
  readonly separator: string;
}
/** What is known of a CSV file and not to be seen in it. */
export interface Reading {
  /** Its own if it has no byte order mark, instead of UTF-8. */
  readonly encoding?: string;
  readonly separator?: string;
  /** What separates several tags, instead of |. */
  readonly tagSeparator?: string;
}
/** Returns the byte order mark that a file begins with. */
export declare function markOf(bytes: Uint8Array): { readonly name: string; readonly encoding: string; readonly mark: readonly number[] } | undefined;
/** Yields the rows of a CSV file. @throws BadFile */
export declare function rowsOf(bytes: AsyncIterable<Uint8Array>, reading?: Reading): AsyncGenerator<Row, void>;
/** Yields the plants of rows, the first of which names the columns. @param columns instead of those that it names; null leaves one out @throws BadFile */
export declare function plantsOf(rows: AsyncIterable<Row>, columns?: readonly (Column | null)[], tagSeparator?: string): AsyncGenerator<SourceLine, void>;
/** Returns the column that a header names, in any case. */
export declare function columnOf(name: string): Column | undefined;
/** Yields the lines of a file. @throws BadFile */
export declare function sourceLines(format: Format, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<SourceLine, void>;
/** Yields the lines of a text, separated by newlines. @throws BadFile */
export declare function linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, void>;
/** Returns a row in which spreadsheets run no formulas. */
export declare function rowOf(values: readonly string[], separator?: string): string;
/** Returns the first row of a file. */
export declare function headerOf(names: readonly string[], separator?: string): string;
/** Converts a plant from the API to a row. */
export declare function recordOf(plant: object, separator?: string): string;
/** A problem of the API. */
export interface LineProblem {
  readonly title?: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly pointer?: string; readonly detail: string }[];
}
/** Returns why the shop refused a line. */
export declare function whyOf(format: Format, problem: LineProblem): string;
