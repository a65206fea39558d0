import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { JournalEntry } from './follow.js';

/** Returns all complete entries. The last line may be incomplete while it is being written. */
export function readJournal(file: string): JournalEntry[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line) as JournalEntry);
}

export const appendToJournal = (file: string, entry: JournalEntry): void => appendFileSync(file, `${JSON.stringify(entry)}\n`);
