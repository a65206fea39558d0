/**
 * One measurement of ours, with what its anchor did just before and just after it.
 * @template Anchor, Ours
 * @typedef {{ ours: Ours, anchors: [Anchor, Anchor] }} Round
 */

/**
 * Anchor, ours, anchor, ours, …, anchor: a machine has phases that last longer than one measurement, so each of ours is held
 * against its own neighbours, and the median round counts.
 * @template Anchor, Ours
 * @param {number} rounds
 * @param {() => Promise<Anchor>} anchor
 * @param {() => Promise<Ours>} ours
 * @returns {Promise<Round<Anchor, Ours>[]>}
 */
export async function inTurns(rounds, anchor, ours) {
  const found = [];
  let before = await anchor();
  for (let round = 0; round < rounds; round++) {
    const measured = await ours();
    const after = await anchor();
    found.push({ ours: measured, anchors: /** @type {[Anchor, Anchor]} */ ([before, after]) });
    before = after;
  }
  return found;
}

/**
 * @template T
 * @param {readonly T[]} rounds
 * @param {(round: T) => number} ratioOf
 * @returns {{ ratio: number, detail: T & { ratios: number[] } }} the round in the middle, and the ratios of all
 */
export function median(rounds, ratioOf) {
  const sorted = [...rounds].sort((one, other) => ratioOf(one) - ratioOf(other));
  const middle = /** @type {T} */ (sorted[Math.floor(sorted.length / 2)]);
  return { ratio: ratioOf(middle), detail: { ...middle, ratios: rounds.map(ratioOf) } };
}

/** @param {readonly [number, number]} anchors */
export const mean = ([before, after]) => (before + after) / 2;
