import { appendFileSync, closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import type { JournalEntry } from './follow.js';

/** Returns all complete entries. The last line may be incomplete while it is being written. */
export function readJournal(file: string): JournalEntry[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line) as JournalEntry);
}

/** Longer than any entry. */
const tailBytes = 16_384;

/** Returns the last complete entry and reads only the file's end, so it is cheap enough to poll. */
export function lastEntry(file: string): JournalEntry | undefined {
  if (!existsSync(file)) return undefined;
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    const tail = Buffer.alloc(Math.min(size, tailBytes));
    readSync(descriptor, tail, 0, tail.length, size - tail.length);
    const line = tail.toString('utf8').split('\n').at(-2);
    return line === undefined ? undefined : (JSON.parse(line) as JournalEntry);
  } finally {
    closeSync(descriptor);
  }
}

export const appendToJournal = (file: string, entry: JournalEntry): void => appendFileSync(file, `${JSON.stringify(entry)}\n`);
