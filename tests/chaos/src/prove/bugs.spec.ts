import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { bugs } from './bugs.js';

const root = join(import.meta.dirname, '../../../..');

describe.each(bugs.map((bug) => [bug.name, bug] as const))('%s', (_name, { edits }) => {
  it.each(edits.map(({ file, find }) => [file, find] as const))('finds its text exactly once in the built %s', (file, find) => {
    const text = readFileSync(join(root, file), 'utf8');
    expect(text.split(find).length - 1).toBe(1);
  });
});

it('bug ids are unique, and there are at least 20 bugs', () => {
  expect(new Set(bugs.map(({ id }) => id)).size).toBe(bugs.length);
  expect(bugs.length).toBeGreaterThanOrEqual(20);
});
