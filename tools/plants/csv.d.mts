// For the console, which imports the same rules in the browser, without Node's types.
export declare const COLUMNS: readonly string[];
/** Yields the records of a CSV text that arrives in pieces. @throws Error if the text ends inside quotes */
export declare function recordsOf(pieces: AsyncIterable<string>): AsyncGenerator<string[]>;
/** Converts a record to a plant for the API. */
export declare function plantOf(names: readonly string[], record: readonly string[]): Record<string, unknown>;
/** Converts a plant from the API to a record. */
export declare function recordOf(plant: object): string;
export declare function header(): string;
/** Converts a value to a field of a record. */
export declare function quotedIfNeeded(value: string): string;
