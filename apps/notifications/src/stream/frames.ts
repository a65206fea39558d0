import type { LogEntry } from '../log/log-entry.js';

/** `plain`: WebSocket frames of event bodies; `resumable`: WebSocket frames with id and cursor; `sse`: Server-Sent Events messages. */
export type FrameFormat = 'plain' | 'resumable' | 'sse';

/** Returns an unfragmented, unmasked WebSocket text frame (RFC 6455, 5.2). */
function textFrame(text: string): Buffer {
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

/** Returns a ping; its payload has at most 125 bytes (RFC 6455, 5.5). */
export const pingFrame = (payload: string): Buffer => Buffer.concat([Buffer.from([0x89, payload.length]), Buffer.from(payload)]);

/** Returns one SSE message (HTML, 9.2.5). Browsers send its id back as Last-Event-ID. */
const sseMessage = (cursor: string, data: string): Buffer => Buffer.from(`id: ${cursor}\ndata: ${data}\n\n`);

/** Returns the line that sets how long an EventSource waits before it reconnects. */
export const retryLine = (ms: number): string => `retry: ${ms}\n`;

/** Moves a browser's Last-Event-ID without a message (HTML, 9.2.6). */
export const sseCursor = (cursor: string): Buffer => Buffer.from(`id: ${cursor}\n\n`);

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
