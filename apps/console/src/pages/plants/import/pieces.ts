import type { PlantLine } from './plant-file.js';

/** Size of a request: browsers cannot stream a request body. */
const mostLines = 1_000;
const mostCharacters = 512 * 1024;
/** Plants without an id that are created at the same time: each is a request. */
const mostNew = 8;

/** Groups lines into requests, and those without an id by themselves. @param skip omits lines up to this number, and blank ones */
export async function* piecesOf(lines: AsyncIterable<PlantLine>, skip = 0): AsyncGenerator<readonly PlantLine[]> {
  let piece: PlantLine[] = [];
  let characters = 0;
  for await (const line of lines) {
    if (line.number <= skip || line.text === '') continue;
    if (piece.length > 0 && (line.isNew !== piece[0]?.isNew || piece.length === (line.isNew ? mostNew : mostLines) || characters + line.text.length > mostCharacters)) {
      yield piece;
      piece = [];
      characters = 0;
    }
    piece.push(line);
    characters += line.text.length;
  }
  if (piece.length > 0) yield piece;
}

/** Browsers read files in chunks of megabytes. Smaller ones make progress smoother and keep the page responsive. */
const stepBytes = 16 * 1024;

/** Reads a stream, also in browsers whose streams cannot be iterated. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      for (let at = 0; at < value.length; at += stepBytes) yield value.subarray(at, at + stepBytes);
    }
  } finally {
    await reader.cancel();
  }
}
