import type { LogEntry } from '../log/log-entry.js';

/** How bytes of an event are wrapped for a kind of client. */
export type FrameFormat = 'plain' | 'resumable' | 'sse';

/** A whole text message of a WebSocket, as servers send it: final, unmasked (RFC 6455, 5.2). */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(head + length);
  frame[0] = 0x81;
  if (head === 2) {
    frame[1] = length;
  } else if (head === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, head);
  return frame;
}

export const pingFrame = Buffer.from([0x89, 0]);

/** One message of an event stream (HTML, 9.2.5); the id is what the client shows as Last-Event-ID. */
export const sseMessage = (cursor: string, data: string): Buffer => Buffer.from(`id: ${cursor}\ndata: ${data}\n\n`);

/** Sets how long an EventSource waits after its connection ended. */
export const retryLine = (ms: number): string => `retry: ${ms}\n`;

export const sseComment = Buffer.from(':\n\n');

/** Returns the frame of an entry; undefined for a gap in the plain format, whose frames are events only. */
export const frameOf = (entry: LogEntry, format: FrameFormat): Buffer | undefined =>
  format === 'plain' && !entry.event ? undefined : entry.bytesIn(format, encode);

function encode(entry: LogEntry, format: FrameFormat): Buffer {
  switch (format) {
    case 'plain':
      return textFrame(entry.body);
    case 'resumable':
      return textFrame(entry.text);
    case 'sse':
      return sseMessage(entry.cursor, entry.body);
    default:
      return format satisfies never;
  }
}
