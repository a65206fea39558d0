/** A progress line, rewritten in place on a terminal and printed occasionally elsewhere. */
export class Progress {
  #shownAt = 0;
  #begun = performance.now();

  /** @param {NodeJS.WriteStream} out @param {number} everyMs */
  constructor(out = process.stderr, everyMs = out.isTTY ? 200 : 5_000) {
    this.out = out;
    this.everyMs = everyMs;
  }

  /** @param {number} lines @param {number} [part] from 0 to 1 */
  show(lines, part) {
    const now = performance.now();
    if (now - this.#shownAt < this.everyMs) return;
    this.#shownAt = now;
    const percent = part === undefined ? '' : `, ${Math.floor(part * 100)} %`;
    this.out.write(`${this.out.isTTY ? '\r' : ''}${lines.toLocaleString('en')} plants${percent}, ${this.rate(lines)}${this.out.isTTY ? '   ' : '\n'}`);
  }

  /** @param {number} lines */
  rate(lines) {
    const seconds = (performance.now() - this.#begun) / 1_000;
    return `${Math.round(lines / Math.max(seconds, 0.001)).toLocaleString('en')} a second`;
  }

  end() {
    if (this.out.isTTY) this.out.write('\r\u001b[K');
  }
}
