import { closeSync, existsSync, openSync, renameSync, statSync, writeSync } from 'node:fs';

const LARGEST = 20_000_000;

/** A log file and its predecessor, each of bounded size. */
export class LogFile {
  #size;
  #descriptor;

  /** @param {string} path */
  constructor(path) {
    this.path = path;
    this.#size = existsSync(path) ? statSync(path).size : 0;
    this.#descriptor = openSync(path, 'a', 0o600);
  }

  /**
   * Appends synchronously, so that a dying process's output is on disk even if the launcher dies, too.
   * @param {string} text
   */
  append(text) {
    if (this.#size > LARGEST) this.#turn();
    this.#size += writeSync(this.#descriptor, text);
  }

  #turn() {
    closeSync(this.#descriptor);
    renameSync(this.path, `${this.path}.1`);
    this.#descriptor = openSync(this.path, 'a', 0o600);
    this.#size = 0;
  }
}
