import { describe, expect, it } from '@jest/globals';
import { releaseStartupMemory } from './startup-memory.js';

describe('memory that starting needed', () => {
  it('is given back to the system, and not only free for us', () => {
    const grown = (): number => {
      const objects = Array.from({ length: 500_000 }, (_, n) => ({ n, text: `object ${n}` }));
      expect(objects).toHaveLength(500_000);
      return process.memoryUsage().heapTotal;
    };
    const before = grown();
    releaseStartupMemory();
    expect(process.memoryUsage().heapTotal).toBeLessThan(before - 20e6);
  });
});
