/**
 * A measurement of the shop, with the anchor's just before and just after it.
 * @template Anchor, Ours
 * @typedef {{ ours: Ours, anchors: [Anchor, Anchor] }} Round
 */

/**
 * Measures anchor, shop, anchor, shop, …, anchor. A machine's speed changes in phases that outlast a measurement, so each is compared
 * with its neighbours, and the median round counts.
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
 * @returns {{ ratio: number, detail: T & { ratios: number[] }, noClaim?: string }} the median round, and the ratios of all rounds
 */
export function median(rounds, ratioOf) {
  const sorted = [...rounds].sort((one, other) => ratioOf(one) - ratioOf(other));
  const middle = /** @type {T} */ (sorted[Math.floor(sorted.length / 2)]);
  return { ratio: ratioOf(middle), detail: { ...middle, ratios: rounds.map(ratioOf) }, ...(rounds.length < 3 && { noClaim: `${rounds.length} of 3 rounds` }) };
}

/** @param {readonly [number, number]} anchors */
export const mean = ([before, after]) => (before + after) / 2;
