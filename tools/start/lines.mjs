/**
 * Splits a stream of text into lines, with one call per chunk: a busy service writes thousands of lines a second.
 * @param {import('node:stream').Readable} stream
 * @param {(lines: string[]) => void} take
 */
export function onLines(stream, take) {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) take(lines);
  });
  stream.on('end', () => {
    if (rest !== '') take([rest]);
  });
}
