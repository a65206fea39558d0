/** Upper bound of one draw: a larger statement would run noticeably long. */
const maxDrawn = 16_384;

/**
 * Draws ids from a sequence until at least `count` of them are free. Clients may also choose ids, so a long run of the next ids
 * may be taken. Each draw is twice as large as the last: a run of n taken ids costs log n round trips.
 * @param blockSize number of ids per sequence value
 * @param drawFree draws the given number of sequence values and returns the ids that are free
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
