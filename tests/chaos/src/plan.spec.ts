import { describe, expect, it } from '@jest/globals';
import { endOf, makePlan } from './plan.js';
import { Random } from './random.js';
import { services } from './stack.js';

const labels = services.flatMap((service) => [`${service}-1`, `${service}-2`]);
const plan = (seed: number, seconds = 600) =>
  makePlan(new Random(seed), { kinds: ['kill', 'pause', 'cut', 'restart', 'roll'], labels, seconds });

describe('a plan', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
  });

  it('leaves the shop time to come back before the next fault', () => {
    const faults = plan(7);
    const rests = faults.slice(1).map((fault, n) => fault.atMs - endOf(faults[n]!));
    expect(Math.min(...rests)).toBeGreaterThanOrEqual(4_000);
  });

  it('has every kind, and every service', () => {
    const faults = plan(7);
    expect(new Set(faults.map(({ kind }) => kind)).size).toBe(5);
    for (const service of services) expect(faults.some(({ targets }) => targets.some((target) => target.startsWith(service)))).toBe(true);
  });
});
