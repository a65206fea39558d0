import type { Person } from './tokens.js';

/**
 * A person without the permissions for whose lack the shop has just refused a request: the role was changed while the page
 * is open. Tokens keep the scope that they were given, so only the refusal tells.
 */
export function withoutRefused(person: Person, { status, headers }: Response): Person {
  if (status !== 403) return person;
  const refused = /error="insufficient_scope", scope="([^"]*)"/.exec(headers.get('www-authenticate') ?? '')?.[1]?.split(' ') ?? [];
  const left = [...person.permissions].filter((one) => !refused.includes(one));
  return left.length === person.permissions.size ? person : { ...person, permissions: new Set(left) };
}
