import { type Permission, permissionsOf } from './permissions.js';

/**
 * The permissions that a 403 response names as missing. A token's scope does not change with the user's role, so only the
 * refusal shows that the role was changed while the page is open.
 */
export function refusedPermissions({ status, headers }: Response): ReadonlySet<Permission> {
  const named = /error="insufficient_scope", scope="([^"]*)"/.exec(headers.get('www-authenticate') ?? '')?.[1] ?? '';
  return permissionsOf(status === 403 ? named : '');
}
