import { createInterface } from 'node:readline';

/**
 * The lines of a stream, blank ones too. An error of the stream ends the loop over them by being thrown there. One that comes after the
 * loop has ended (a connection that breaks behind its last line) concerns nobody; readline would end the process.
 * @param {import('node:stream').Readable} input
 */
export function linesOf(input) {
  const lines = createInterface({ input, crlfDelay: Infinity });
  lines.on('error', () => undefined);
  return lines;
}
