import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { gatewayUrl } from '../shop.js';
import { streamUrl } from '../stream.js';

const folder = new URL('../../../../libs/client/', import.meta.url);

describe('the README of the client library', () => {
  it('is a program that runs from top to bottom', async () => {
    const text = readFileSync(new URL('README.md', folder), 'utf8');
    const blocks = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
    expect(blocks.length).toBeGreaterThan(6);
    const code = blocks.join('\n').replaceAll('http://localhost:8080', gatewayUrl()).replaceAll('ws://127.0.0.1:8081', streamUrl());
    // Runs in the package's folder, in which Node resolves the package by its own name.
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { cwd: fileURLToPath(folder), timeout: 60_000 });
    expect(stdout.split('\n')).toEqual([
      'true',
      expect.stringMatching(/^order \d+ is approved$/),
      expect.stringMatching(/^2 of Monstera, order \d+$/),
      expect.stringMatching(/^\d+ units are free$/),
      expect.stringMatching(/^order \d+: (approved|delivered)$/),
      '/lines/0: only 8 are left',
      "{ refused: 'headers' }",
      "{ id: 'test', event: {} }",
      '',
    ]);
  }, 90_000);
});
