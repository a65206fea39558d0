import { crc32 } from 'node:zlib';

// Pictures from phones and cameras say where, when and by whom they were taken. Everybody can see a plant's pictures, so that is removed:
// EXIF, XMP, IPTC, comments, thumbnails, and whatever follows a picture's end. Nothing is decoded. What a viewer needs stays: colours
// (ICC, Adobe), animation, and of EXIF the orientation. Files whose structure is broken, GIF and AVIF pass unchanged.

/** Of EXIF that is read, in bytes: JPEG has no more. */
const maxExif = 64 * 1024;
const none = Buffer.alloc(0);

/** Yields a file without its metadata, for any pieces in which it arrives. Reads it to its end. */
export async function* withoutMetadata(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const source = pieces[Symbol.asyncIterator]();
  const file = new Reader(source);
  try {
    const start = (await file.peek(12)).toString('latin1', 0, 12);
    if (start.startsWith('\xff\xd8\xff')) yield* jpeg(file);
    else if (start.startsWith('\x89PNG\r\n\x1a\n')) yield* png(file);
    else if (/^RIFF[^]{4}WEBP$/.test(start)) yield* webp(file);
    else yield* file.pass(Infinity);
    await file.skip(Infinity);
  } finally {
    await source.return?.();
  }
}

/** Reads pieces by length. */
class Reader {
  private waiting: Buffer = none;

  constructor(private readonly source: AsyncIterator<Buffer>) {}

  /** Returns what has arrived, at least `length` bytes unless the file ends before. */
  async peek(length: number): Promise<Buffer> {
    while (this.waiting.length < length) {
      const next = await this.source.next();
      if (next.done === true) break;
      this.waiting = this.waiting.length === 0 ? next.value : Buffer.concat([this.waiting, next.value]);
    }
    return this.waiting;
  }

  async take(length: number): Promise<Buffer> {
    const taken = (await this.peek(length)).subarray(0, length);
    this.waiting = this.waiting.subarray(taken.length);
    return taken;
  }

  async skip(length: number): Promise<void> {
    for (let left = length, got = 1; left > 0 && got > 0; left -= got) {
      got = (await this.take(Math.min(left, this.waiting.length || 1))).length;
    }
  }

  async *pass(length: number): AsyncGenerator<Buffer, void, undefined> {
    for (let left = length; left > 0; ) {
      const piece = (await this.peek(1)).subarray(0, Math.min(left, this.waiting.length));
      if (piece.length === 0) return;
      this.waiting = this.waiting.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }
}

/** ITU T.81, annex B: segments, each after a marker, and after some of them the coded picture. */
async function* jpeg(file: Reader): AsyncGenerator<Buffer, void, undefined> {
  yield await file.take(2);
  for (;;) {
    const [first, code = 0, high = 0, low = 0] = await file.peek(4);
    if (first === 0xff && code === 0xff) {
      // Any number of these may precede a marker.
      await file.take(1);
      continue;
    }
    const isBroken = first !== 0xff || code < 0xc0 || (code >= 0xd0 && code <= 0xd8);
    if (isBroken || code === 0xd9) {
      yield* file.pass(isBroken ? Infinity : 2);
      return;
    }
    yield keptOf(code, await file.take(2 + high * 256 + low));
    if (code === 0xda) yield* scan(file);
  }
}

/** Yields the coded bytes up to the next marker; `FF 00` is a byte of them, and `FF D0` to `FF D7` are within. */
async function* scan(file: Reader): AsyncGenerator<Buffer, void, undefined> {
  for (let bytes = await file.peek(2); bytes.length > 1; bytes = await file.peek(2)) {
    let at = bytes.indexOf(0xff);
    for (; at !== -1 && at + 1 < bytes.length; at = bytes.indexOf(0xff, at + 1)) {
      const code = bytes[at + 1] ?? 0;
      if (code === 0 || code === 0xff || (code >= 0xd0 && code <= 0xd7)) continue;
      yield* file.pass(at);
      return;
    }
    yield* file.pass(at === -1 ? bytes.length : at);
  }
}

function keptOf(code: number, segment: Buffer): Buffer {
  if (code < 0xe0 || code > 0xef) return code === 0xfe ? none : segment;
  const name = segment.toString('latin1', 4, 16);
  if (code === 0xe1 && name.startsWith('Exif\0\0')) {
    const exif = exifWith(orientationOf(segment.subarray(10)));
    return Buffer.concat([Buffer.from([0xff, 0xe1, 0, exif.length + 8]), Buffer.from('Exif\0\0'), exif]);
  }
  const needed = { 0xe0: 'JFIF\0', 0xe2: 'ICC_PROFILE\0', 0xee: 'Adobe' }[code];
  return needed !== undefined && name.startsWith(needed) ? segment : none;
}

/** Optional chunks that change how the picture is shown. */
const shown = new Set('cHRM cICP gAMA iCCP mDCV cLLI sBIT sRGB bKGD hIST tRNS pHYs sPLT acTL fcTL fdAT'.split(' '));

/** PNG, third edition, section 5: chunks of length, type, data and checksum. An upper-case type is needed to show the picture. */
async function* png(file: Reader): AsyncGenerator<Buffer, void, undefined> {
  yield await file.take(8);
  for (;;) {
    const head = await file.peek(8);
    const type = head.toString('latin1', 4, 8);
    const length = /^[A-Za-z]{4}$/.test(type) ? head.readUInt32BE() + 12 : Infinity;
    if (type < 'a' || shown.has(type) || length === Infinity) yield* file.pass(length);
    else if (type === 'eXIf' && length <= maxExif) yield pngChunk(type, exifWith(orientationOf((await file.take(length)).subarray(8))));
    else await file.skip(length);
    if (type === 'IEND' || length === Infinity) return;
  }
}

function pngChunk(type: string, data: Buffer): Buffer {
  const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from(type), data, Buffer.alloc(4)]);
  chunk.writeUInt32BE(data.length);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), chunk.length - 4);
  return chunk;
}

/** WebP, RFC 9649: chunks of type, length and data. The file's length comes first, so metadata is overwritten and not left out. */
async function* webp(file: Reader): AsyncGenerator<Buffer, void, undefined> {
  const head = await file.take(12);
  yield head;
  for (let left = head.readUInt32LE(4) - 4; left > 0; ) {
    const start = await file.take(8);
    yield start;
    if (start.length < 8) return;
    const length = Math.min(start.readUInt32LE(4), left - 8);
    left -= 8 + length + (length % 2);
    const type = start.toString('latin1', 0, 4);
    if (/^(VP8[ LX]|ALPH|ANIM|ANMF|ICCP)$/.test(type)) yield* file.pass(length);
    else {
      const old = type === 'EXIF' ? (await file.peek(Math.min(length, maxExif))).subarray(0, length) : none;
      const exif = exifWith(orientationOf(old.toString('latin1', 0, 6) === 'Exif\0\0' ? old.subarray(6) : old));
      const kept = await file.take(exif.length <= old.length ? exif.length : 0);
      yield exif.subarray(0, kept.length);
      for await (const piece of file.pass(length - kept.length)) yield Buffer.alloc(piece.length);
    }
    yield* file.pass(length % 2);
  }
}

/** Returns the orientation that EXIF tells (TIFF 6.0: a number from 1 to 8 under tag 274 of the first directory), by default 1. */
function orientationOf(tiff: Buffer): number {
  const isLittle = tiff.toString('latin1', 0, 2) === 'II';
  const read = (at: number, bytes: 2 | 4): number =>
    at + bytes > tiff.length ? 0 : isLittle ? tiff.readUIntLE(at, bytes) : tiff.readUIntBE(at, bytes);
  const directory = read(4, 4);
  const entries = read(directory, 2);
  for (let at = directory + 2; at < directory + 2 + entries * 12; at += 12) {
    const value = read(at + 8, 2);
    if (read(at, 2) === 274) return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

/** EXIF with the orientation alone. */
const exifWith = (orientation: number): Buffer => Buffer.from(`4d4d002a0000000800010112000300000001000${orientation}000000000000`, 'hex');
