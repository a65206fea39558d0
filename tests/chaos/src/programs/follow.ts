import type * as Library from '@plant-shop/client';

type EventType = Exclude<Library.EventType, `stock.${string}`>;

export interface FollowOptions {
  readonly url: string;
  readonly streamUrl: string;
  readonly credential: Library.Credential;
  readonly types?: readonly EventType[];
  /**
   * Which cursor it saves: that of the loop (`events.cursor`), before it handles an event; or that of the event (`event.cursor`), in
   * the same write as the event, as in one transaction.
   */
  readonly savesCursorOf: 'loop' | 'event';
  /** The longest time that handling an event takes, in milliseconds. */
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

/**
 * Follows events with the client library until the process or the page is killed. Runs in Node and in browsers.
 * @param earlier entries of earlier runs
 * @param write appends an entry; the loop goes on when it is written
 */
export async function follow(
  { createShop }: typeof Library,
  { url, streamUrl, credential, types, savesCursorOf, workMs }: FollowOptions,
  earlier: readonly JournalEntry[],
  write: (entry: JournalEntry) => unknown,
): Promise<void> {
  const cursor = earlier.findLast(({ savedCursor }) => savedCursor !== undefined)?.savedCursor;
  /** May come again as the first event, because the loop's cursor is saved before the event is handled. */
  let handled = earlier.findLast(({ event }) => event !== undefined)?.event?.id;
  const events = createShop({ url, streamUrl, credential }).events({ ...(cursor !== undefined && { cursor }), ...(types && { types }) });
  await events.opened();
  if (cursor === undefined) await write({ savedCursor: events.cursor });
  for await (const message of events) {
    if (savesCursorOf === 'loop') await write({ savedCursor: events.cursor });
    await new Promise((resolve) => setTimeout(resolve, Math.random() * workMs));
    const saved = savesCursorOf === 'event' ? { savedCursor: message.cursor } : {};
    if (message.event === 'stream.gap') await write({ gap: message.data.reason, ...saved });
    else if (savesCursorOf === 'event' || message.id !== handled) await write({ event: message, ...saved });
    handled = undefined;
  }
}
