import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { accounts, broadcasts } from '../../libs/contracts/dist/broker.js';
import { answersPrefix, callsSubject, clockReadingsPrefix } from '../../libs/platform/dist/rpc/operation.js';
import { ROOT } from '../start/toolchain.mjs';
import { contracts } from './readme.mjs';

/** @typedef {import('../../libs/contracts/dist/broker.js').Account} Account */

export const accountsFile = join(ROOT, 'deploy', 'nats', 'nats.conf');

const begin = '      # `npm run openapi` writes these users from libs/contracts.\n';
const end = '      # end of the users\n';

/** Returns the broker's configuration with the accounts that follow from the contracts. @throws Error if it has no place for them */
export function withAccounts() {
  const text = readFileSync(accountsFile, 'utf8');
  const [before, rest] = text.split(begin, 2);
  const after = rest?.split(end, 2)[1];
  if (before === undefined || after === undefined) throw new Error(`${accountsFile} has no lines ${begin}and ${end}`);
  return `${before}${begin}${accounts.map(userOf).join('')}${end}${after}`;
}

/** @param {Account} name */
function userOf(name) {
  const { publish, subscribe } = permissionsOf(name);
  return `      {
        user: ${name}
        password: $${name.toUpperCase()}_NATS_PASSWORD
        permissions {
          publish: ${listOf(publish)}
          subscribe: ${listOf(subscribe)}
        }
      }
`;
}

/** @param {readonly string[]} subjects */
const listOf = (subjects) => `[\n${subjects.map((subject) => `            "${subject}"\n`).join('')}          ]`;

/** @param {Account} name */
function permissionsOf(name) {
  const services = accounts.filter((service) => contracts[service]);
  const callees = services.filter((service) => callersOf(service).has(name));
  const callers = accounts.filter((caller) => callersOf(name).has(caller));
  const messages = Object.values(broadcasts);
  return {
    publish: [
      ...callees.flatMap((service) => [callsSubject(service, name), `${clockReadingsPrefix(service, '*')}.${name}.*`]),
      ...callers.map((caller) => `${answersPrefix(caller, '*')}.${name}.*`),
      ...messages.flatMap(({ subject }) => (subject.startsWith(`${name}.`) ? [subject] : [])),
    ],
    subscribe: [
      ...(callers.length > 0 ? [`${callsSubject(name, '*')} ${name}`, `${clockReadingsPrefix(name, '*')}.*.*`] : []),
      ...(callees.length > 0 ? [`${answersPrefix(name, '*')}.*.*`] : []),
      ...messages.flatMap(({ subject, subscribers }) => (/** @type {readonly Account[]} */ (subscribers).includes(name) ? [subject] : [])),
    ],
  };
}

/** @param {Account} service */
const callersOf = (service) => new Set(Object.values(contracts[service] ?? {}).flatMap(({ callers }) => callers));
