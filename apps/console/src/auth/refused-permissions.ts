import type { Person } from './tokens.js';

/**
 * Removes the permissions that a 403 response names as missing: the user's role was changed while the page is open. A
 * token's scope does not change, so only the refusal shows it.
 */
export function withoutRefused(person: Person, { status, headers }: Response): Person {
  if (status !== 403) return person;
  const refused = /error="insufficient_scope", scope="([^"]*)"/.exec(headers.get('www-authenticate') ?? '')?.[1]?.split(' ') ?? [];
  const left = [...person.permissions].filter((one) => !refused.includes(one));
  return left.length === person.permissions.size ? person : { ...person, permissions: new Set(left) };
}
