import type { Socket } from 'node:net';
import type { Connection } from './connection.js';

/** What a client may leave unread before it is closed with 4101: it comes back with its cursor, and nothing is lost. */
const maxUnsentBytes = 1024 * 1024;
const maxUnsentMs = 10_000;
/** What all clients together may leave unread; beyond it, those with most are closed with 4100. */
const maxUnsentInAll = 256 * 1024 * 1024;

/** Clients that do not take what is sent to them: the only ones whose buffers are looked at. */
export class SlowClients {
  private readonly behind = new Set<Connection>();

  constructor(private readonly maxInAll = maxUnsentInAll) {}

  /** Something was just sent. */
  note(connection: Connection, now: number): void {
    const { socket } = connection.transport ?? {};
    if (!socket || socket.writableLength === 0 || connection.unsent) return;
    connection.unsent = { bytes: socket.bytesWritten, since: now };
    this.behind.add(connection);
  }

  forget(connection: Connection): void {
    this.behind.delete(connection);
  }

  /** It may get more. */
  static takesMore({ transport }: Connection): boolean {
    return (transport?.socket.writableLength ?? 0) <= maxUnsentBytes;
  }

  /** Once a second. `close` is called for those that took nothing of what they were sent 10 s ago. */
  sweep(now: number, close: (connection: Connection, code: 4100 | 4101) => void): void {
    let total = 0;
    for (const connection of this.behind) {
      const { transport, unsent } = connection;
      if (!transport || !unsent) continue;
      const { writableLength, bytesWritten } = transport.socket;
      total += writableLength;
      // bytesWritten counts what still waits in the buffer.
      if (bytesWritten - writableLength >= unsent.bytes) {
        connection.unsent = undefined;
        this.behind.delete(connection);
        this.note(connection, now);
      } else if (now - unsent.since > maxUnsentMs) {
        close(connection, 4101);
      }
    }
    if (total > this.maxInAll) this.relieve(total, close);
  }

  private relieve(total: number, close: (connection: Connection, code: 4100) => void): void {
    const size = (connection: Connection): number => connection.transport?.socket.writableLength ?? 0;
    for (const connection of [...this.behind].sort((a, b) => size(b) - size(a))) {
      if (total <= this.maxInAll) return;
      total -= size(connection);
      close(connection, 4100);
    }
  }
}

/** Resolves when the socket wants more, or is gone. */
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
