import { readFileSync } from 'node:fs';
import type { Settings } from '@plant-shop/platform/config';
import { serviceSettings } from '@plant-shop/platform/service/settings';

/** The settings of a service as the rows of its README's table; those that every service has are named there once. */
export function settingsRows(settings: Settings): string[] {
  const common = new Set(Object.values(serviceSettings).map((one) => one.variable));
  return Object.values(settings)
    .filter((one) => !common.has(one.variable))
    .map(({ variable, defaultText, description }) =>
      `| \`${variable}\` | ${defaultText ?? ''} | ${description} |`.replace('|  |', '| |'),
    );
}

/** The rows of settings that a README has. */
export function readmeRows(readme: URL): string[] {
  return readFileSync(readme, 'utf8')
    .split('\n')
    .filter((line) => /^\| `[A-Z0-9_]+` \|/.test(line));
}

/** The operations of a contract that a README does not name. */
export function unnamedOperations(contract: Readonly<Record<string, { readonly name: string }>>, readme: URL): string[] {
  const text = readFileSync(readme, 'utf8');
  return Object.values(contract)
    .map((operation) => operation.name)
    .filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
}
