/** What the anchor uses of ws, which has no types of its own. */
declare module 'ws' {
  import type { Server } from 'node:net';

  export class WebSocketServer {
    constructor(options: { port: number; host: string; perMessageDeflate: boolean });
    readonly clients: ReadonlySet<{ send(text: string): void }>;
    address(): ReturnType<Server['address']>;
    on(event: 'listening', listener: () => void): this;
  }
}
