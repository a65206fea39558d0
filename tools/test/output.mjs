import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/**
 * The output of a step and of the commands that it starts.
 * @typedef {object} Output
 * @property {number} fd
 * @property {(text: string) => void} say writes a line
 */

/** @type {Output} */
export const terminal = { fd: process.stdout.fd, say: console.log };

/** The outputs of steps that run while another step writes to the terminal. Each waits in a file, and is printed as a whole. */
export class WaitingOutput {
  /** @type {string[]} */
  #ended = [];

  /** @param {string} file to create @returns {Output & { end: () => void }} */
  open(file) {
    const fd = openSync(file, 'w', 0o600);
    return {
      fd,
      say: (text) => void writeSync(fd, `${text}\n`),
      end: () => {
        closeSync(fd);
        this.#ended.push(file);
      },
    };
  }

  /** Prints the outputs that ended since the last call. */
  show() {
    for (const file of this.#ended.splice(0)) process.stdout.write(readFileSync(file));
  }
}
