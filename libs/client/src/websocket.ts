import { nothing } from './abort.js';
import { adviceIn, type Ending } from './reconnect.js';

/** What a connection tells the loop that keeps the stream alive. */
export interface Receiver {
  onOpen(): void;
  /**
   * One event or gap, as JSON.
   *
   * @param cursor where the text does not have it
   * @returns whether more may come
   */
  onText(text: string, cursor?: string): boolean;
}

/** A connection that does not open in this time leads nowhere. */
const openLimitMs = 10_000;

/**
 * One WebSocket, to its end. Aborting closes it.
 *
 * @param silenceMs after so long without a message, `isAlive` is asked: browsers do not show the stream's pings
 * @param isAlive whether the stream still has nothing to say
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
      // A socket that fails while it is being closed still reports it, and Node ends the process for an error that nobody hears.
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
