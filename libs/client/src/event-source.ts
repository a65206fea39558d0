import { nothing } from './abort.js';
import type { Ending } from './reconnect.js';
import type { Receiver } from './websocket.js';

/** The stream sends its cursor every 25 s, so a connection without a byte for this long is dead. */
const silenceMs = 60_000;

interface Message {
  /** The cursor. */
  readonly id: string | undefined;
  readonly event: string;
  /** Undefined if the message has only an id. */
  readonly data: string | undefined;
}

/**
 * Reads Server-Sent Events (HTML, 9.2) from an answer until it ends. Stops reading while there is no room, so that a slow reader slows
 * the stream down.
 *
 * @param room resolves when there is room for more
 */
export async function readEventSource(response: Response, signal: AbortSignal, room: () => Promise<void>, receiver: Receiver): Promise<Ending> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  receiver.onOpen();
  const broken = (reason: string): Ending => ({ code: signal.aborted ? 1000 : 1006, reason, wasOpen: true });
  try {
    for (;;) {
      await room();
      const part = await withinSilence(reader?.read());
      if (part === undefined) return broken('the connection is dead');
      if (part.done) return broken('the connection broke');
      const { messages, unread } = parse(rest + decoder.decode(part.value, { stream: true }));
      rest = unread;
      for (const { id, event, data } of messages) {
        if (data === undefined) {
          if (id !== undefined) receiver.onCursor(id);
          continue;
        }
        if (event === 'close') return { ...endingOf(data), wasOpen: true };
        receiver.onText(data, id);
      }
    }
  } catch {
    return broken('the connection broke');
  } finally {
    // Also after an error, so that the connection does not stay open.
    await reader?.cancel().catch(nothing);
  }
}

/** Returns undefined if the work takes too long. */
async function withinSilence<T>(work: Promise<T> | undefined): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), silenceMs);
  });
  try {
    return await Promise.race([work, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function endingOf(data: string): Pick<Ending, 'code' | 'reason' | 'retryAfterMs'> {
  const { code, reason, reconnectAfterMs } = JSON.parse(data) as { code: number; reason: string; reconnectAfterMs?: number };
  return { code, reason, retryAfterMs: reconnectAfterMs };
}

/** Returns the complete messages of a text, and the unread rest. */
export function parse(text: string): { readonly messages: readonly Message[]; readonly unread: string } {
  // A final carriage return may be the first half of CRLF.
  const blocks = text.replace(/\r\n|\r(?!$)/g, '\n').split('\n\n');
  const unread = blocks.pop() ?? '';
  const messages = blocks.flatMap((block) => {
    let event = 'message';
    let id: string | undefined;
    const data: string[] = [];
    for (const line of block.split('\n')) {
      const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
      if (field === 'event') event = value;
      if (field === 'data') data.push(value);
      if (field === 'id') id = value;
    }
    if (data.length === 0 && id === undefined) return [];
    return [{ id, event, data: data.length === 0 ? undefined : data.join('\n') }];
  });
  return { messages, unread };
}
