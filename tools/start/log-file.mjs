import { appendFileSync, existsSync, renameSync, statSync } from 'node:fs';

const LARGEST = 20_000_000;

/** A log file and its predecessor, each of bounded size. */
export class LogFile {
  #size;

  /** @param {string} path */
  constructor(path) {
    this.path = path;
    this.#size = existsSync(path) ? statSync(path).size : 0;
  }

  /**
   * Appends at once: what a dying process wrote must be on disk when we die too, and one write per chunk is cheap.
   * @param {string} text
   */
  append(text) {
    if (this.#size > LARGEST) {
      renameSync(this.path, `${this.path}.1`);
      this.#size = 0;
    }
    appendFileSync(this.path, text, { mode: 0o600 });
    this.#size += text.length;
  }
}
