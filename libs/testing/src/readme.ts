import { readFileSync } from 'node:fs';

/** Returns the names of the contract's operations that the README does not mention. */
export function unnamedOperations(contract: Readonly<Record<string, { readonly name: string }>>, readme: URL): string[] {
  const text = readFileSync(readme, 'utf8');
  return Object.values(contract)
    .map((operation) => operation.name)
    .filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
}
