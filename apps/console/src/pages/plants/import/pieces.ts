import type { SourceLine } from './source-lines.js';

/** Size of a request: browsers cannot stream a request body. */
const mostLines = 1_000;
const mostCharacters = 512 * 1024;

/** Groups lines into requests. @param skip omits lines up to this number */
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
