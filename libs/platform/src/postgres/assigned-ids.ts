/** A statement that draws more ids than this takes long enough to be noticed. */
const maxDrawn = 16_384;

/**
 * Draws ids from a sequence until at least `count` of them are free. Clients may choose ids as well, and may have taken
 * a long run of the next ones: each draw is twice as large as the last, so a run of n taken ids costs log n round trips.
 * @param blockSize how many ids one value of the sequence stands for
 * @param drawFree draws so many values and returns the ids that are free
 */
export async function drawFreeIds(
  { count, blockSize = 1 }: { readonly count: number; readonly blockSize?: number },
  drawFree: (values: number) => Promise<readonly number[]>,
): Promise<number[]> {
  const ids: number[] = [];
  for (let values = Math.ceil(count / blockSize); ids.length < count; values = Math.min(values * 2, maxDrawn / blockSize)) {
    ids.push(...(await drawFree(Math.ceil(values))));
  }
  return ids;
}
