import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/**
 * Where a step and the commands that it starts write.
 * @typedef {object} Output
 * @property {number} fd
 * @property {(text: string) => void} say writes a line
 */

/** @type {Output} */
export const terminal = { fd: process.stdout.fd, say: console.log };

/**
 * Keeps in a file what a step writes while another one writes to the terminal.
 * @param {string} file
 * @returns {Output & { show: () => void }} show: prints what was kept, and ends it
 */
export function keptIn(file) {
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
