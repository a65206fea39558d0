/** A position in the log, as clients store it: the epoch of the log and the number of the last event that the client has. */
export interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}

/** The epoch of a log that follows no feed yet. A position in it is the beginning of any log. */
export const noEpoch = '00000000-0000-0000-0000-000000000000';

/** Stored in the first of the 24 bytes, which is always 0 in a number below 2^53. */
const version = 1;
const encodedCursor = /^[\w-]{32}$/;

export function encodeCursor({ epoch, seq }: Cursor): string {
  const bytes = Buffer.alloc(24);
  bytes.writeBigUInt64BE(BigInt(seq));
  bytes[0] = version;
  bytes.write(epoch.replaceAll('-', ''), 8, 'hex');
  return bytes.toString('base64url');
}

/** Returns undefined for any text that `encodeCursor` cannot have produced. */
export function decodeCursor(text: string): Cursor | undefined {
  if (!encodedCursor.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes[0] !== version) return undefined;
  bytes[0] = 0;
  const seq = Number(bytes.readBigUInt64BE());
  if (!Number.isSafeInteger(seq)) return undefined;
  const epoch = bytes.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { epoch, seq };
}
