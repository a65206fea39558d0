/** The maximum length of a line, more than the largest plant in ASCII. */
export const maxLineBytes = 512 * 1024;

/** A line without its newline. If `tooLong`, its bytes were dropped. */
export interface Line {
  readonly number: number;
  readonly bytes: Buffer;
  readonly tooLong: boolean;
}

const newline = 0x0a;
const none = Buffer.alloc(0);

/** Splits a byte stream into lines; buffers at most one. Blank lines are numbered, but not returned. */
export class LineReader {
  private number = 0;
  private parts: Buffer[] = [];
  private length = 0;

  /** Yields the lines that end in this piece. */
  *read(piece: Buffer): Generator<Line> {
    let from = 0;
    for (let at = piece.indexOf(newline); at !== -1; at = piece.indexOf(newline, from)) {
      this.add(piece.subarray(from, at));
      from = at + 1;
      const line = this.take();
      if (line) yield line;
    }
    this.add(piece.subarray(from));
  }

  /** Returns the text after the last newline, if any. */
  rest(): Line | undefined {
    return this.length === 0 ? undefined : this.take();
  }

  private add(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.length += bytes.length;
    // Drops a line that is too long; its length is still counted.
    if (this.length > maxLineBytes) this.parts = [];
    else this.parts.push(bytes);
  }

  private take(): Line | undefined {
    const tooLong = this.length > maxLineBytes;
    const [only = none] = this.parts;
    const bytes = this.parts.length > 1 ? Buffer.concat(this.parts) : only;
    this.parts = [];
    this.length = 0;
    this.number++;
    return tooLong || !isBlank(bytes) ? { number: this.number, bytes, tooLong } : undefined;
  }
}

const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
