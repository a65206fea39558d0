// A program that follows events with the client library and writes the handled ones to a journal. It may be killed at any time.
import type * as Library from '@plant-shop/client';
import { follow, type FollowOptions } from './follow.js';
import { appendToJournal, readJournal } from './journal.js';

/** The program's first argument, as JSON. */
export interface FollowingJob extends FollowOptions {
  /** URL of the built library; it may be a copy with a seeded bug. */
  readonly library: string;
  readonly journal: string;
}

const job = JSON.parse(process.argv[2] ?? '') as FollowingJob;
// The parent process has exited.
process.stdin.on('close', () => process.exit(1)).resume();
await follow((await import(job.library)) as typeof Library, job, readJournal(job.journal), (entry) => appendToJournal(job.journal, entry));
