/** A position in the log as clients keep it: the history that the number belongs to, and the number of the last event seen. */
export interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}

/** Of a log that follows nothing yet. A position in it is its beginning, whatever it will follow. */
export const noEpoch = '00000000-0000-0000-0000-000000000000';

/** The first of the 24 bytes, where the number, below 2^53, has none of its own. */
const version = 1;
const format = /^[\w-]{32}$/;

export function encodeCursor({ epoch, seq }: Cursor): string {
  const bytes = Buffer.alloc(24);
  bytes.writeBigUInt64BE(BigInt(seq));
  bytes[0] = version;
  bytes.write(epoch.replaceAll('-', ''), 8, 'hex');
  return bytes.toString('base64url');
}

/** @returns undefined for every text that `encodeCursor` never made */
export function decodeCursor(text: string): Cursor | undefined {
  if (!format.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes[0] !== version) return undefined;
  bytes[0] = 0;
  const seq = Number(bytes.readBigUInt64BE());
  if (!Number.isSafeInteger(seq)) return undefined;
  const epoch = bytes.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { epoch, seq };
}
