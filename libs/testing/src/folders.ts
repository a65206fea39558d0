import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns pairs of folders, directly below `source`, whose files import each other in both directions: "a <-> b". */
export function mutualImports(source: string): string[] {
  const imports = new Set<string>();
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts') || entry.parentPath === source) continue;
    const file = join(entry.parentPath, entry.name);
    const [from] = file.slice(source.length + 1).split('/');
    for (const [, to] of readFileSync(file, 'utf8').matchAll(/from '(?:\.\.\/)+([\w-]+)\/[^']+'/g)) {
      if (to !== from) imports.add(`${from} ${to}`);
    }
  }
  return [...imports]
    .map((pair) => pair.split(' ') as [string, string])
    .filter(([from, to]) => from < to && imports.has(`${to} ${from}`))
    .map(([from, to]) => `${from} <-> ${to}`)
    .sort();
}
