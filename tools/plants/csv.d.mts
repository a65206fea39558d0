// For the console, which imports the same rules (TypeScript of the browser, without Node's types).
export declare const COLUMNS: readonly string[];
/** Records of a CSV text that comes in pieces. @throws Error when the text ends inside quotes */
export declare function recordsOf(pieces: AsyncIterable<string>): AsyncGenerator<string[]>;
/** A plant as the API takes it. */
export declare function plantOf(names: readonly string[], record: readonly string[]): Record<string, unknown>;
/** One record of a plant as the API answers it. */
export declare function recordOf(plant: object): string;
export declare function header(): string;
/** A value as a field of a record. */
export declare function quotedIfNeeded(value: string): string;
