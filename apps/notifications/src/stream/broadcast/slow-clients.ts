import type { Socket } from 'node:net';
import type { Connection } from '../connection.js';

/** Limits of unread data per client, beyond which it is closed with 4101. It can resume with its cursor without loss. */
const maxUnsentBytes = 1024 * 1024;
const maxUnsentMs = 10_000;
/** Limit of unread data of all clients together, beyond which those with most are closed with 4100. */
const maxUnsentTotal = 256 * 1024 * 1024;

/** Tracks clients whose sockets have unsent data; only their buffers are examined. */
export class SlowClients {
  private readonly behind = new Set<Connection>();

  constructor(private readonly maxTotal = maxUnsentTotal) {}

  /** Call after each write. */
  note(connection: Connection): void {
    const { socket } = connection.transport ?? {};
    if (!socket || socket.writableLength === 0 || connection.unsent) return;
    connection.unsent = { bytes: socket.bytesWritten, since: performance.now() };
    this.behind.add(connection);
  }

  forget(connection: Connection): void {
    this.behind.delete(connection);
  }

  /** Returns whether the client may be sent more. */
  static takesMore({ transport }: Connection): boolean {
    return (transport?.socket.writableLength ?? 0) <= maxUnsentBytes;
  }

  /** Call once a second. Calls `close` for clients that have not read within 10 s all that had been sent when they fell behind. */
  sweep(now: number, close: (connection: Connection, code: 4100 | 4101) => void): void {
    let total = 0;
    for (const connection of this.behind) {
      const { transport, unsent } = connection;
      if (!transport || !unsent) continue;
      const { writableLength, bytesWritten } = transport.socket;
      total += writableLength;
      // bytesWritten includes what is still in the buffer.
      if (bytesWritten - writableLength >= unsent.bytes) {
        connection.unsent = undefined;
        this.behind.delete(connection);
        this.note(connection);
      } else if (now - unsent.since > maxUnsentMs) {
        close(connection, 4101);
      }
    }
    if (total > this.maxTotal) this.relieve(total, close);
  }

  private relieve(total: number, close: (connection: Connection, code: 4100) => void): void {
    const size = (connection: Connection): number => connection.transport?.socket.writableLength ?? 0;
    for (const connection of [...this.behind].sort((a, b) => size(b) - size(a))) {
      if (total <= this.maxTotal) return;
      total -= size(connection);
      close(connection, 4100);
    }
  }
}

/** Resolves when the socket has drained or is closed. */
export async function drained(socket: Socket): Promise<void> {
  if (!socket.writableNeedDrain || socket.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    socket.on('drain', done);
    socket.on('close', done);
  });
}
