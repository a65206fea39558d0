import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalog } from '../../libs/contracts/dist/catalog.js';
import { identity } from '../../libs/contracts/dist/identity.js';
import { notifications } from '../../libs/contracts/dist/notifications.js';
import { store } from '../../libs/contracts/dist/store.js';
import { ROOT } from '../start/toolchain.mjs';

/** @typedef {import('../../libs/contracts/dist/client-operation.js').ClientOperation} ClientOperation */

/** @type {Readonly<Record<string, Readonly<Record<string, { readonly name: string, readonly callers: readonly string[], readonly client?: ClientOperation }>>>>} */
export const contracts = { catalog, store, identity, notifications };

const begin = '<!-- `npm run openapi` writes this table -->';
const end = '<!-- end of the table -->';

/** @param {string} service */
export const readmeOf = (service) => join(ROOT, 'apps', service, 'README.md');

/**
 * Returns the README of a service with a current table of the operations that clients can call.
 * @param {string} service
 * @throws Error if the README has no place for it
 */
export function withOperations(service) {
  const text = readFileSync(readmeOf(service), 'utf8');
  const [before, rest] = text.split(begin, 2);
  const after = rest?.split(end, 2)[1];
  if (before === undefined || after === undefined) throw new Error(`${readmeOf(service)} has no lines ${begin} and ${end}`);
  const rows = Object.values(contracts[service] ?? {}).flatMap(({ name, client }) => (client ? [rowOf(name, client)] : []));
  return `${before}${begin}\n| operation | route | |\n|---|---|---|\n${rows.join('\n')}\n${end}${after}`;
}

/** @param {string} name @param {ClientOperation} client */
const rowOf = (name, { method, url, summary }) => `| \`${name}\` | \`${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}\` | ${summary} |`;
