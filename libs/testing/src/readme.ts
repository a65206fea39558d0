import { readFileSync } from 'node:fs';

/**
 * Returns the names of the contract's operations that the README does not mention. Those of clients need not be: their
 * declarations describe them, and docs/api/openapi.json lists them.
 */
export function unnamedOperations(contract: Readonly<Record<string, { readonly name: string; readonly client?: object }>>, readme: URL): string[] {
  const text = readFileSync(readme, 'utf8');
  return Object.values(contract)
    .filter(({ client }) => client === undefined)
    .map((operation) => operation.name)
    .filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
}
