import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

describe('the generated files', () => {
  it('are those of the committed documents (npm run client-types writes them again) (slow)', async () => {
    const script = fileURLToPath(new URL('../generate.mjs', import.meta.url));
    const { stderr } = await promisify(execFile)(process.execPath, [script, '--check']);
    expect(stderr).toBe('');
  });
});
