import { describe, expect, it } from '@jest/globals';
import { gatewayUrl, setting } from '../shop.js';
import { findCostly } from './cost.js';

describe('a request of the largest size, shaped to be costly', () => {
  it('takes 50 ms of no process, apart from those that hash passwords or stream, and blocks no event loop for longer', async () => {
    const { tried, operations, excesses, costliest } = await findCostly({ url: gatewayUrl(), runFile: setting('RUN_FILE'), isShort: true });
    const most = costliest.slice(0, 3).map(({ ms, process, operationId, what }) => `${Math.round(ms)} ms of ${process} by ${operationId} with ${what}`);
    process.stdout.write(`cost: ${operations} operations, ${tried} tried; the most: ${most.join('; ')}\n`);
    expect(excesses).toEqual([]);
    expect(tried).toBeGreaterThan(150);
  }, 300_000);
});
