import { createInterface } from 'node:readline';

/**
 * The lines of a stream, blank ones too. It is read from the first one that somebody asks for: readline loses lines that come before.
 * An error of the stream is thrown in the loop over them. One that comes after the loop has ended (a connection that breaks behind its
 * last line) concerns nobody; readline would end the process.
 * @param {import('node:stream').Readable} input @returns {AsyncGenerator<string, void>}
 */
export async function* linesOf(input) {
  const lines = createInterface({ input, crlfDelay: Infinity });
  lines.on('error', () => undefined);
  yield* lines;
}
