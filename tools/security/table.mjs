import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../start/toolchain.mjs';

/** The test files that the table of threats names, which are what `npm run security` runs. @returns {string[]} */
export function namedTests() {
  const table = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
  return [...new Set([...table.matchAll(/`([\w./-]+(?:spec\.ts|test\.mjs))`/g)].map(([, file = '']) => file))];
}
