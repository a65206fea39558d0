import { nothing } from './abort.js';
import { adviceIn, type Ending } from './reconnect.js';

/** Receives what a connection delivers. */
export interface Receiver {
  onOpen(): void;
  /**
   * Receives one event or gap, as JSON.
   *
   * @param cursor the cursor, if the text does not contain it
   * @returns whether to continue
   */
  onText(text: string, cursor?: string): boolean;
  /** Receives a cursor up to which no more events match. */
  onCursor(cursor: string): void;
}

/** Time limit for a connection to open. */
const openLimitMs = 10_000;

/**
 * Reads a WebSocket until it ends. Aborting closes it.
 *
 * @param silenceMs time without a message after which `isAlive` is called: browsers do not expose the stream's pings
 * @param isAlive returns whether the stream really had nothing to send
 */
export function readWebSocket(
  WebSocketClass: typeof globalThis.WebSocket,
  url: URL,
  { signal, silenceMs, isAlive }: { readonly signal: AbortSignal; readonly silenceMs: number; readonly isAlive: () => Promise<boolean> },
  receiver: Receiver,
): Promise<Ending> {
  return new Promise((resolve) => {
    const socket = new WebSocketClass(url);
    let wasOpen = false;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = (code: number, reason: string): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      socket.onopen = socket.onmessage = socket.onclose = null;
      // A socket that fails while closing still emits an error, and Node ends the process if it is unhandled.
      socket.onerror = nothing;
      socket.close();
      resolve({ code, reason, retryAfterMs: adviceIn(reason), wasOpen });
    };
    const onAbort = (): void => end(1000, 'closed by this side');
    const watch = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        void isAlive().then((alive) => {
          if (isOver) return;
          if (alive) watch();
          else end(1006, 'the connection is dead');
        });
      }, silenceMs);
    };
    timer = setTimeout(() => end(1006, 'the connection did not open'), openLimitMs);
    signal.addEventListener('abort', onAbort);
    socket.onopen = () => {
      wasOpen = true;
      watch();
      receiver.onOpen();
    };
    socket.onmessage = ({ data }) => {
      watch();
      if (!receiver.onText(data as string)) end(1000, 'the reader is slower than the stream');
    };
    socket.onerror = nothing;
    socket.onclose = ({ code, reason }) => end(code, reason || 'the connection broke');
    if (signal.aborted) onAbort();
  });
}
