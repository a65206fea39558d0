// A program of its own: follows events with the client library, and keeps in a journal what it has handled. It may be killed at any time.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type * as Library from '@plant-shop/client';

type EventType = Library.EventType;

/** In the program's first argument, as JSON. */
export interface FollowingJob {
  /** Address of the built library: it may be one with a bug. */
  readonly library: string;
  readonly url: string;
  readonly streamUrl: string;
  readonly credential: Library.Credential;
  readonly journal: string;
  readonly types?: readonly EventType[];
  /**
   * Which position it keeps: that of the loop (`events.cursor`) before it handles an event, or that of each event (`event.cursor`) in
   * the same write as the event itself, as in one transaction.
   */
  readonly keeps: 'loop' | 'event';
  /** It handles an event for so long at most. */
  readonly workMs: number;
}

/** One line of JSON, written at once or not at all. */
export interface Entry {
  /** Where the next life resumes. */
  readonly kept?: string;
  /** It was handled. */
  readonly event?: Exclude<Library.StreamMessage<EventType>, Library.StreamGap>;
  /** The reason of a gap. */
  readonly gap?: string;
}

const job = JSON.parse(process.argv[2] ?? '') as FollowingJob;
const { createShop } = (await import(job.library)) as typeof Library;
// Whoever started it has ended.
process.stdin.on('close', () => process.exit(1)).resume();

const earlier = existsSync(job.journal) ? readFileSync(job.journal, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as Entry) : [];
const cursor = earlier.findLast(({ kept }) => kept !== undefined)?.kept;
/** It may come once more, as the first: where the loop stood was kept before it was handled. */
let handled = earlier.findLast(({ event }) => event !== undefined)?.event?.id;

const { url, streamUrl, credential, types, keeps, workMs } = job;
const events = createShop({ url, streamUrl, credential }).events({ ...(cursor !== undefined && { cursor }), ...(types && { types }) });
await events.opened();
if (cursor === undefined) note({ kept: events.cursor });
for await (const message of events) {
  if (keeps === 'loop') note({ kept: events.cursor });
  await sleep(Math.random() * workMs);
  const kept = keeps === 'event' ? { kept: message.cursor } : {};
  if (message.event === 'stream.gap') note({ gap: message.data.reason, ...kept });
  else if (keeps === 'event' || message.id !== handled) note({ event: message, ...kept });
  handled = undefined;
}

function note(entry: Entry): void {
  appendFileSync(job.journal, `${JSON.stringify(entry)}\n`);
}
