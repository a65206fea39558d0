import type { SourceLine } from './source-lines.js';

/** What one request carries: browsers cannot send a body while they make it. */
const mostLines = 1_000;
const mostCharacters = 512 * 1024;

/** Lines in pieces for one request each. @param skip lines with this number or a lower one are left out */
export async function* piecesOf(lines: AsyncIterable<SourceLine>, skip = 0): AsyncGenerator<readonly SourceLine[]> {
  let piece: SourceLine[] = [];
  let characters = 0;
  for await (const line of lines) {
    if (line.number <= skip) continue;
    if (piece.length > 0 && (piece.length === mostLines || characters + line.text.length > mostCharacters)) {
      yield piece;
      piece = [];
      characters = 0;
    }
    piece.push(line);
    characters += line.text.length;
  }
  if (piece.length > 0) yield piece;
}
