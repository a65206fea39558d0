import type { Shop } from '@plant-shop/client';
import { EXPORTED, type Format, headerOf, linesOf, recordOf } from '../../../../../../tools/plants/csv.mjs';
import { chunksOf } from '../import/pieces.js';

/** Lines per Blob part, which the browser may keep on disk. */
const partLines = 2_000;

/**
 * All plants as a file.
 * @param separator of CSV
 * @param onProgress called with the number of plants read so far
 * @throws ShopError; Error if the response is truncated, so that no partial file is saved
 */
export async function exportPlants(shop: Shop, { format, separator }: { readonly format: Format; readonly separator?: string }, onProgress: (plants: number) => void): Promise<Blob> {
  const parts: Blob[] = [];
  let lines: string[] = format === 'csv' ? [headerOf(EXPORTED, separator)] : [];
  let plants = 0;
  for await (const line of exportedLines(shop)) {
    lines.push(format === 'csv' ? recordOf(JSON.parse(line) as object, separator) : `${line}\n`);
    plants += 1;
    if (lines.length < partLines) continue;
    parts.push(new Blob(lines));
    lines = [];
    onProgress(plants);
  }
  onProgress(plants);
  return new Blob([...parts, ...lines], { type: format === 'csv' ? 'text/csv' : 'application/x-ndjson' });
}

/** Yields the JSON of every plant. @throws ShopError; Error if the response is truncated */
async function* exportedLines(shop: Shop): AsyncGenerator<string, void> {
  const { data } = await shop.GET('/plant/export', { parseAs: 'stream' });
  yield* linesOf(whole(data));
}

async function* whole(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  try {
    if (stream) yield* chunksOf(stream);
  } catch (cause) {
    throw new Error('The shop’s answer was cut off before its end. Start it again.', { cause });
  }
}
