import { now, pause } from './clock.js';
import type { EventType, Follower, SeenEvent } from './history.js';

/** A stream client that resumes: it reconnects to the next replica with its last cursor. */
export class ResumingSocket implements Follower {
  readonly events: SeenEvent[] = [];
  readonly closes: number[] = [];
  /** Reasons of the gaps that it was notified of. */
  readonly gaps: string[] = [];
  private socket: WebSocket | undefined;
  private isOver = false;
  private turn: number;

  private constructor(readonly name: string, private readonly urls: readonly string[], private cursor: string, first: number, private readonly apiKey: string, readonly types?: readonly EventType[]) {
    this.turn = first;
  }

  /** Follows all events from now on. @param first index of the first replica to connect to */
  static async open(name: string, urls: readonly string[], first: number, types?: readonly EventType[]): Promise<ResumingSocket> {
    const cursor = await latest((urls[0] ?? '').replace(/^ws/, 'http'));
    return ResumingSocket.from(name, urls, first, 'special-key', cursor, types);
  }

  /** Follows with any API key, and keeps reconnecting when it is refused. */
  static from(name: string, urls: readonly string[], first: number, apiKey: string, cursor = 'latest', types?: readonly EventType[]): ResumingSocket {
    const socket = new ResumingSocket(name, urls, cursor, first, apiKey, types);
    void socket.run();
    return socket;
  }

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  stop(): void {
    this.isOver = true;
    this.socket?.close();
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      const url = this.urls[this.turn++ % this.urls.length] ?? '';
      const types = this.types ? `&types=${this.types.join()}` : '';
      const code = await this.connect(`${url}/v1/orders/updates?api_key=${this.apiKey}&cursor=${encodeURIComponent(this.cursor)}${types}`);
      if (code !== undefined) this.closes.push(code);
      await pause(100);
    }
  }

  /** @returns the close code; undefined if the connection never opened */
  private connect(url: string): Promise<number | undefined> {
    const socket = new WebSocket(url);
    this.socket = socket;
    let wasOpen = false;
    // A frozen replica accepts the connection and never answers.
    const limit = setTimeout(() => wasOpen || socket.close(), 2_000);
    socket.onopen = () => (wasOpen = true);
    socket.onmessage = ({ data }) => this.take(data as string);
    return new Promise((resolve) => {
      socket.onclose = ({ code }) => {
        clearTimeout(limit);
        resolve(wasOpen ? code : undefined);
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

/** The current cursor. Retries: a replica that has just started refuses credentials until it has the revocations from identity. */
async function latest(url: string): Promise<string> {
  for (const end = now() + 30_000; ; ) {
    const page = await fetch(`${url}/v1/orders/updates?cursor=latest`, { headers: { api_key: 'special-key', accept: 'application/json' } });
    if (page.ok) return ((await page.json()) as { cursor: string }).cursor;
    if (now() > end) throw new Error(`the stream answered ${page.status}: ${await page.text()}`);
    await pause(100);
  }
}
