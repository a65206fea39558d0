import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/**
 * The output of a step and of the commands that it starts.
 * @typedef {object} Output
 * @property {number} fd
 * @property {(text: string) => void} say writes a line
 */

/** @type {Output} */
export const terminal = { fd: process.stdout.fd, say: console.log };

/**
 * Buffers a step's output in a file while another step writes to the terminal.
 * @param {string} file
 * @returns {Output & { show: () => void }} show: closes the buffer and prints it
 */
export function bufferedIn(file) {
  const fd = openSync(file, 'w', 0o600);
  return {
    fd,
    say: (text) => void writeSync(fd, `${text}\n`),
    show: () => {
      closeSync(fd);
      process.stdout.write(readFileSync(file));
    },
  };
}
