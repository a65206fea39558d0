import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { bugs } from './bugs.js';

const root = join(import.meta.dirname, '../../../..');

describe.each(bugs.map((bug) => [bug.name, bug] as const))('%s', (_name, { edits }) => {
  it.each(edits.map(({ file, find }) => [file, find] as const))('fits %s as it is built now', (file, find) => {
    const text = readFileSync(join(root, file), 'utf8');
    expect(text.split(find).length - 1).toBe(1);
  });
});

it('each bug has an id of its own, and there are at least 20', () => {
  expect(new Set(bugs.map(({ id }) => id)).size).toBe(bugs.length);
  expect(bugs.length).toBeGreaterThanOrEqual(20);
});
