/** What is used of ws, which has no types of its own. */
declare module 'ws' {
  import type { EventEmitter } from 'node:events';
  import type { Server } from 'node:net';

  export class WebSocketServer {
    constructor(options: { port: number; host: string; perMessageDeflate: boolean });
    readonly clients: ReadonlySet<{ send(text: string): void }>;
    address(): ReturnType<Server['address']>;
    on(event: 'listening', listener: () => void): this;
  }

  export default class WebSocket extends EventEmitter<{ open: []; message: [bytes: Buffer]; pong: []; error: [error: Error]; close: [code: number] }> {
    static readonly OPEN: number;
    constructor(url: string, options: { headers: Record<string, string>; localAddress: string; perMessageDeflate: boolean });
    readonly readyState: number;
    readonly bufferedAmount: number;
    send(text: string): void;
    ping(): void;
    close(): void;
    terminate(): void;
  }
}
