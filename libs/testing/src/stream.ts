import { setTimeout as pause } from 'node:timers/promises';

const reconnectMs = 100;

/** A frame of the stream; `body` is the event without `id` and `cursor`. */
export interface StreamEvent {
  readonly id: string;
  readonly body: string;
}

export interface ResumingSocketOptions {
  /** Returns the address of the replica to connect to next. */
  readonly nextUrl: () => string;
  readonly apiKey: string;
  readonly cursor?: string;
  readonly types?: readonly string[] | undefined;
  /** Closes a connection that is not open by then: a frozen replica accepts connections and never answers. */
  readonly openLimitMs?: number;
}

/**
 * A WebSocket client of the stream that reconnects with its last cursor, and keeps reconnecting when it is refused. It does not share
 * code with the client library, since it is the reference for what the stream sends.
 */
export class ResumingSocket {
  readonly events: StreamEvent[] = [];
  /** Close codes of the connections that were open and that it did not close itself. */
  readonly closes: number[] = [];
  /** Reasons of the gaps that it was notified of. */
  readonly gaps: string[] = [];
  private socket: WebSocket | undefined;
  private isOver = false;
  private cursor: string;

  constructor(private readonly options: ResumingSocketOptions) {
    this.cursor = options.cursor ?? 'latest';
    void this.run();
  }

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  stop(): void {
    this.isOver = true;
    this.socket?.close();
  }

  private async run(): Promise<void> {
    const { nextUrl, apiKey, types } = this.options;
    while (!this.isOver) {
      const query = `api_key=${apiKey}&cursor=${encodeURIComponent(this.cursor)}${types ? `&types=${types.join()}` : ''}`;
      await this.connect(`${nextUrl()}/v1/orders/updates?${query}`);
      await pause(reconnectMs);
    }
  }

  /** Resolves when the connection is closed. */
  private connect(url: string): Promise<void> {
    const socket = new WebSocket(url);
    this.socket = socket;
    let wasOpen = false;
    const { openLimitMs } = this.options;
    const limit = openLimitMs === undefined ? undefined : setTimeout(() => wasOpen || socket.close(), openLimitMs);
    socket.onopen = () => (wasOpen = true);
    socket.onmessage = ({ data }) => this.take(data as string);
    return new Promise((resolve) => {
      socket.onclose = ({ code }) => {
        clearTimeout(limit);
        if (wasOpen && !this.isOver) this.closes.push(code);
        resolve();
      };
    });
  }

  private take(text: string): void {
    const { id, cursor, ...event } = JSON.parse(text) as { id: string; cursor: string; event: string; data?: { reason?: string } };
    this.cursor = cursor;
    if (event.event === 'stream.gap') this.gaps.push(event.data?.reason ?? '');
    else this.events.push({ id, body: JSON.stringify(event) });
  }
}
