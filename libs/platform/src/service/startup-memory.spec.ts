import { describe, expect, it } from '@jest/globals';
import { releaseStartupMemory } from './service.js';

describe('memory that only startup needed', () => {
  it('is returned to the system, not only freed on the heap', () => {
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
