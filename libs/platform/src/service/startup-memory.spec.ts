import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

/** Prints how much the heap shrinks. In the process of the tests, the collection would also take away the code and modules of other files. */
const script = `
  import { releaseStartupMemory } from '${new URL('service.js', import.meta.url).href}';
  const grown = () => {
    const objects = Array.from({ length: 500_000 }, (_, n) => ({ n, text: 'object ' + n }));
    if (objects.length !== 500_000) throw new Error('the objects were not made');
    return process.memoryUsage().heapTotal;
  };
  const before = grown();
  releaseStartupMemory();
  console.log(before - process.memoryUsage().heapTotal);`;

describe('memory that only startup needed', () => {
  it('is returned to the system, not only freed on the heap (slow)', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
    expect(Number(stdout)).toBeGreaterThan(20e6);
  });
});
