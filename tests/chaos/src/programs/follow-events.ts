// A program that follows events with the client library and writes the handled ones to a journal. It may be killed at any time.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type * as Library from '@plant-shop/client';

type EventType = Library.EventType;

/** The program's first argument, as JSON. */
export interface FollowingJob {
  /** URL of the built library; it may be a copy with a seeded bug. */
  readonly library: string;
  readonly url: string;
  readonly streamUrl: string;
  readonly credential: Library.Credential;
  readonly journal: string;
  readonly types?: readonly EventType[];
  /**
   * Which cursor it saves: that of the loop (`events.cursor`), before it handles an event; or that of the event (`event.cursor`), in
   * the same write as the event, as in one transaction.
   */
  readonly savesCursorOf: 'loop' | 'event';
  /** The longest time that handling an event takes. */
  readonly workMs: number;
}

/** One line of the journal, in JSON, written atomically. */
export interface JournalEntry {
  /** Where the program resumes after a restart. */
  readonly savedCursor?: string;
  /** A handled event. */
  readonly event?: Exclude<Library.StreamMessage<EventType>, Library.StreamGap>;
  /** The reason of a gap. */
  readonly gap?: string;
}

const job = JSON.parse(process.argv[2] ?? '') as FollowingJob;
const { createShop } = (await import(job.library)) as typeof Library;
// The parent process has exited.
process.stdin.on('close', () => process.exit(1)).resume();

const earlier = existsSync(job.journal) ? readFileSync(job.journal, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as JournalEntry) : [];
const cursor = earlier.findLast(({ savedCursor }) => savedCursor !== undefined)?.savedCursor;
/** May come again as the first event, because the loop's cursor is saved before the event is handled. */
let handled = earlier.findLast(({ event }) => event !== undefined)?.event?.id;

const { url, streamUrl, credential, types, savesCursorOf, workMs } = job;
const events = createShop({ url, streamUrl, credential }).events({ ...(cursor !== undefined && { cursor }), ...(types && { types }) });
await events.opened();
if (cursor === undefined) note({ savedCursor: events.cursor });
for await (const message of events) {
  if (savesCursorOf === 'loop') note({ savedCursor: events.cursor });
  await sleep(Math.random() * workMs);
  const saved = savesCursorOf === 'event' ? { savedCursor: message.cursor } : {};
  if (message.event === 'stream.gap') note({ gap: message.data.reason, ...saved });
  else if (savesCursorOf === 'event' || message.id !== handled) note({ event: message, ...saved });
  handled = undefined;
}

function note(entry: JournalEntry): void {
  appendFileSync(job.journal, `${JSON.stringify(entry)}\n`);
}
