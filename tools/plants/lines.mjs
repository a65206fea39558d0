import { createInterface } from 'node:readline';

/**
 * Yields the lines of a stream, including blank ones. Starts reading with the first request for a line, because readline loses lines
 * that arrive earlier. Throws errors of the stream inside the loop. Ignores an error after the last line, such as a broken
 * connection, which readline would turn into an uncaught exception.
 * @param {import('node:stream').Readable} input @returns {AsyncGenerator<string, void>}
 */
export async function* linesOf(input) {
  const lines = createInterface({ input, crlfDelay: Infinity });
  lines.on('error', () => undefined);
  yield* lines;
}
